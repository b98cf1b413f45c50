#!/bin/sh
# A build script whose third step fails: the status of the step is that of the script.
set -e
trap 'echo "cleanup: removing build directory"; rm -rf build' EXIT

step() {
	echo "==> $1"
}

step configure
mkdir build
echo "CC=cc" >build/config
step compile
grep -q CC build/config
step test
[ -f build/config ]
sh -c 'echo "1 test failed" >&2; exit 4'
step install
echo "never reached"
