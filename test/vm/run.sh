#!/bin/sh
# run.sh -- runs Cella in a virtual machine with cgroup v2 and the kernel of Debian stable.
#
#      test/vm/run.sh BUILD_DIR [PART...]
#
# Parts: root, groups, user, closed, delegated, images, each a script in guest/; all of them and one
# attack when none is named.  keeper is the daemon's keeper, 60 s; reuse the part of it that makes and
# reuses control groups; daemon the daemon itself with images and pools, 35 s.  attacks and user-attacks are the whole attack suite, as root
# and as a user with a group of its own: 90 s each.
#
# The machine is emulated in software, has no network and boots Debian's cloud kernel,
# which has NVMe and ext4 built in: no initramfs is needed.  Its root is an image made by
# image.sh from this host's programs and BUILD_DIR's binaries; the script guest/init is its
# process 1 and prints one line a test on the serial console.
#
# Kernel and image are kept in BUILD_DIR/vm.  CELLA_VM_KERNEL names another kernel to boot: a package of
# Debian (FILE.deb), or a kernel itself, which needs the same built in, and the overlay file system, else the
# tests of images are skipped.  Control groups are reused on Linux 6.12 and later, for example
# linux-image-cloud-amd64 of Debian 12's backports.
# Exit status: 0 all passed, 1 something failed, 2 the machine could not be had.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

give_up() {
        printf 'run.sh: %s\n' "$*" >&2
        exit 2
}

[ $# -ge 1 ] || give_up "usage: $0 BUILD_DIR [PART...]"
build=$(cd "$1" 2>/dev/null && pwd) || give_up "no such directory: $1"
[ -x "$build/src/cella" ] || give_up "$build/src/cella is not there: build it first (ninja -C $1)"
cache=$build/vm
mkdir -p "$cache"
shift
parts=
seconds_max=1000 # for the machine, from power-on to its last line; 30 on an idle host
for part; do
        case $part in
        root | groups | user | closed | delegated | images) ;;
        attacks | user-attacks | keeper | reuse | daemon) seconds_max=1100 ;;
        *) give_up "no such part: $part" ;;
        esac
        parts=$parts,$part
done

case $(uname -m) in
x86_64)
        package=linux-image-cloud-amd64 emulator=qemu-system-x86_64 emulator_package=qemu-system-x86
        # A fifth level of page tables would only take time.  The HPET loses 43 s, its counter's period,
        # when the host is busy; the TSC is the host's own.  QEMU 7.2 emulates cmpxchg16b wrongly, and Linux
        # 6.12 crashes when it starts.
        machine='-M q35,hpet=off -cpu max,-la57,-cx16' words='console=ttyS0 tsc=reliable no_timer_check'
        ;;
aarch64)
        package=linux-image-cloud-arm64 emulator=qemu-system-aarch64 emulator_package=qemu-system-arm
        # The real algorithm of pointer authentication is slow to emulate.
        machine='-M virt -cpu max,pauth-impdef=on' words='console=ttyAMA0'
        ;;
*) give_up "no virtual machine for $(uname -m)" ;;
esac
command -v "$emulator" >/dev/null || give_up "$emulator is not there: apt-get install $emulator_package"

find_version() {
        versioned=$(apt-cache depends "$package" 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\)/\1/p' | head -n 1)
}

# unpack PACKAGE: its kernel becomes $kernel, and its module for overlays $module.
unpack() {
        rm -rf "$cache/unpacked"
        mkdir "$cache/unpacked"
        dpkg --fsys-tarfile "$1" |
                tar -x -C "$cache/unpacked" --wildcards ./boot './lib/modules/*/kernel/fs/overlayfs/overlay.ko*'
        for packed in "$cache"/unpacked/lib/modules/*/kernel/fs/overlayfs/overlay.ko.xz; do
                [ ! -e "$packed" ] || xz -d "$packed"
        done
        mv "$cache"/unpacked/lib/modules/*/kernel/fs/overlayfs/overlay.ko "$module"
        mv "$cache"/unpacked/boot/vmlinuz-* "$kernel"
        rm -rf "$cache/unpacked"
}

# The newest kernel that apt knows of: downloaded, not installed.  It has overlays as a module.
get_kernel() {
        kernel=${CELLA_VM_KERNEL:-$cache/vmlinuz} module=
        case ${CELLA_VM_KERNEL:-} in
        *.deb)
                kernel=$cache/other-vmlinuz module=$cache/other-overlay.ko
                unpack "$CELLA_VM_KERNEL"
                ;;
        esac
        if [ -z "${CELLA_VM_KERNEL:-}" ]; then
                module=$cache/overlay.ko
                [ -s "$module" ] || rm -f "$kernel"
                [ -x /usr/bin/kmod ] || give_up "kmod is not there: apt-get install kmod"
        fi
        [ ! -s "$kernel" ] || return 0
        [ -z "${CELLA_VM_KERNEL:-}" ] || give_up "CELLA_VM_KERNEL: no file $kernel"
        command -v apt-get >/dev/null ||
                give_up "no kernel: this is no Debian; put one into $kernel or name it in CELLA_VM_KERNEL"
        find_version
        # A machine on which apt has never looked, or long ago.
        [ -n "$versioned" ] || { [ "$(id -u)" = 0 ] && apt-get -q update >"$cache/download.log" 2>&1 && find_version; }
        [ -n "$versioned" ] || give_up "no kernel: apt does not know $package; apt-get update, or set CELLA_VM_KERNEL"
        echo "downloading $versioned" >&2
        rm -rf "$cache/download"
        mkdir "$cache/download"
        download() { (cd "$cache/download" && apt-get -q download "$versioned") >"$cache/download.log" 2>&1; }
        # A list that is older than the archive names a file that is no longer there.
        download || { apt-get -q update >/dev/null 2>&1 && find_version && download; } || {
                tail -n 5 "$cache/download.log" >&2
                give_up "no kernel: apt-get cannot download $versioned; set CELLA_VM_KERNEL to a file of your own"
        }
        unpack "$cache"/download/*.deb
        rm -rf "$cache/download"
}

# Everything that image.sh puts in and that changes with the source.
ingredients() {
        cat "$here/image.sh" "$here/archive.py" "$here"/guest/* "$build/src/cella"
        cat "$build/src/cella-client" "$build/src/cella-image" "$build/src/cella-server" 2>/dev/null || true
        [ -z "$module" ] || cat "$module"
        cat "$build/test/keeper_protocol" "$build/test/attack/attack-run" "$build/test/attack/cella-attacks" 2>/dev/null || true
}

get_image() {
        image=$cache/image
        stamp=$(ingredients | sha256sum)
        [ -s "$image" ] && [ "$(cat "$image.stamp" 2>/dev/null)" = "$stamp" ] && return 0
        rm -f "$image.stamp"
        "$here/image.sh" "$build" "$image" "$module" || give_up "no image"
        echo "$stamp" >"$image.stamp"
}

boot() {
        log=$cache/console.log
        : >"$log"
        # norandmaps: the emulator translates code anew wherever it finds it in memory, so let it be where
        # it was last time (a quarter less time).
        # snapshot: what the machine writes is dropped, the image stays as it was made.
        # shellcheck disable=SC2086 # $machine is several words
        timeout -k 2 $seconds_max "$emulator" $machine -accel tcg,thread=multi -smp 2 -m 768 \
                -nodefaults -nic none -display none -no-reboot -serial "file:$log" \
                -kernel "$kernel" \
                -drive "file=$image,if=none,id=root,format=raw,snapshot=on" -device nvme,drive=root,serial=root \
                -append "$words quiet loglevel=1 panic=-1 norandmaps root=/dev/nvme0n1 rw init=/vm/init cella.parts=$parts" \
                </dev/null 2>"$cache/qemu.log" &
        running=$!
        trap 'kill $running 2>/dev/null' EXIT
        trap 'exit 130' INT TERM HUP
        tail -n +1 -s 0.2 -f --pid=$running "$log" | sed -un 's/\r$//; /^\(ok\|FAIL\|skip\|note\) \|^   /p' &
        ended=0
        wait $running || ended=$?
        trap - EXIT
        wait # for the last lines
}

count() {
        tr -d '\r' <"$log" | grep -c "^$1 " || true
}

get_kernel
get_image
boot
passed=$(count ok) failed=$(count FAIL) skipped=$(count skip)
if ! tr -d '\r' <"$log" | grep -qx 'finished'; then
        case $ended in
        124 | 137) why="it took more than $seconds_max s" ;;
        *) why="$emulator ended with $ended: $(tail -n 1 "$cache/qemu.log")" ;;
        esac
        echo "FAIL the machine ran to its end: $why; the console's last lines:"
        tail -n 12 "$log" | tr -d '\r' | sed 's/^/   /'
        failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
