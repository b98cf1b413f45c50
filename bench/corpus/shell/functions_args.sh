#!/bin/sh
usage() {
	echo "usage: deploy [-v] [-e ENV] TARGET..." >&2
	return 2
}

deploy() {
	verbose=0
	env=staging
	OPTIND=1
	while getopts ve: option; do
		case $option in
		v) verbose=1 ;;
		e) env=$OPTARG ;;
		*) usage; return 2 ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# -gt 0 ] || { usage; return 2; }
	for target; do
		echo "deploying $target to $env"
		[ $verbose -eq 0 ] || echo "  (verbose) $target has ${#target} letters"
	done
}

deploy web
deploy -v -e production web worker
deploy -e test || echo "status $?"
name=${UNSET_VARIABLE:-default}
path=/srv/app/releases/v1.2.3.tar.gz
echo "$name ${path##*/} ${path%/*} ${path%%.*}"
