#!/bin/sh
# image.sh -- makes the root file system of the virtual machine.
#
#      image.sh BUILD_DIR IMAGE [MODULE]
#
# A small system out of this host's own programs, with the libraries they need and as
# much of Python's library as a few imports take, below /usr as on any merged system;
# BUILD_DIR's binaries in /usr/bin, the tests in /vm, and the kernel's MODULE with them.  ext4, because it is what people
# have, and because it can map owners (tmpfs cannot before Linux 6.3).
set -eu

build=$1 image=$2 module=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/sbin:/sbin
root=$(mktemp -d "$image.XXXXXX")
trap 'rm -rf "$root" "$root.inside"' EXIT

programs='sh cat chmod chown cp dd env find grep head id kill ls mkdir mktemp mount rm rmdir sed setpriv setsid
sleep stat tail touch tr true umount uname unshare wc'
programs_of_images='sh cat chmod head id ls mkdir rm touch'

skeleton() {
        mkdir -p "$root/usr/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/vm" "$root/home/user" \
                "$root/etc/alternatives" "$root/etc/ssl/certs"
        for link in bin sbin lib lib32 lib64 libx32; do
                [ -L "/$link" ] || continue
                cp -P "/$link" "$root/$link"
                mkdir -p "$root/usr/$link"
        done
        printf 'root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$root/etc/passwd"
        printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
        [ ! -e /etc/ld.so.cache ] || cp /etc/ld.so.cache "$root/etc"
}

# Copies files to where they are here.
take() {
        for file; do
                mkdir -p "$root${file%/*}"
                cp -L "$file" "$root$file"
        done
}

# What the dynamic linker would load for these programs.
libraries() {
        ldd "$@" 2>/dev/null | sed -n 's/^\t\(.* => \)\{0,1\}\(\/[^ ]*\) (.*/\2/p' | sort -u
}

# The files behind the modules that the tests import.
python_files() {
        /usr/bin/python3 -I -c '
import encodings.idna, encodings.utf_8, json, math, os, re, socket, struct, sys, threading
for module in list(sys.modules.values()):
    for path in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
        if path and os.path.isfile(path):
            print(path)
' | sort -u
}

# What the tests about images import: made of the same programs, as another system would have them.
archive() {
        mkdir -p "$root.inside/usr/bin" "$root.inside/usr/lib"
        for link in bin lib lib64; do
                [ ! -L "/$link" ] || cp -P "/$link" "$root.inside/$link"
                mkdir -p "$root.inside/usr/$link"
        done
        own=
        for program in $programs_of_images; do
                cp "$root/usr/bin/$program" "$root.inside/usr/bin"
                own="$own $root/usr/bin/$program"
        done
        # shellcheck disable=SC2086
        for file in $(libraries $own); do
                mkdir -p "$root.inside${file%/*}"
                cp -L "$file" "$root.inside$file"
        done
        /usr/bin/python3 "$here/archive.py" "$root.inside" "$root/vm/images.tar"
}

skeleton
found=
if [ -n "$module" ]; then
        cp "$module" "$root/vm/overlay.ko"
        take /usr/bin/kmod
        found=/usr/bin/kmod
        ln -s kmod "$root/usr/bin/insmod"
fi
[ ! -x /usr/sbin/ip ] || {
        take /usr/sbin/ip
        found="$found /usr/sbin/ip"
}
for program in $programs; do
        path=/usr/bin/$program
        [ -e "$path" ] || path=$(command -v "$program") || {
                echo "image.sh: this host has no $program" >&2
                exit 1
        }
        case $path in
        /*) ;;
        *) path=/bin/$program ;; # a builtin of this shell
        esac
        take "$path"
        found="$found $path"
done
if [ -x /usr/bin/python3 ]; then
        python=$(python_files)
        # shellcheck disable=SC2086
        take /usr/bin/python3 $python
        found="$found /usr/bin/python3 $(echo "$python" | grep '\.so$' || true)"
fi
for binary in src/cella src/cella-client src/cella-image src/cella-server test/keeper_protocol test/attack/attack-run test/attack/cella-attacks; do
        [ -x "$build/$binary" ] || continue
        cp "$build/$binary" "$root/usr/bin"
        found="$found $build/$binary"
done
# shellcheck disable=SC2046,SC2086
take $(libraries $found)
cp "$here"/guest/* "$root/vm"
chmod +x "$root/vm/init"
[ ! -x /usr/bin/python3 ] || archive

size=$(($(du -sm "$root" | cut -f 1) * 5 / 4 + 64))
rm -f "$image"
mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d "$root" "$image" "${size}M" >/dev/null
