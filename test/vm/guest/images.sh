# images.sh -- sandboxes of images, as root and as an ordinary user: $who.  $where is a directory of his on the disk,
# because the kernel that most people have cannot map owners on tmpfs.
. /vm/check.sh
mkdir -p "$where"
cd "$where" || exit
CELLA_STATE=$where/state
export CELLA_STATE

image() {
        cella run --image "$@"
}

begin 'an archive of two images is imported'
cella image import /vm/images.tar
want_code 0
cella image ls
want_in_out 'layers:1'
want_in_out 'plain:1'
end

begin 'what the image says about its user, variables, directory and command counts'
cella run --image layers:1
want_code 0
want_out 'good morning
1234
/srv'
end

begin 'upper layers delete what lower ones have'
image layers:1 sh -c 'echo /gone /old/* /data/a/*'
want_code 0
want_out '/gone /old/new /data/a/three /data/a/two'
end

begin 'everything can be changed, as the user of the image and as root, and nothing of it stays'
for user in '' '--user root'; do
        # shellcheck disable=SC2086 # two words, or none
        image layers:1 $user -- sh -c 'echo x >>/data/a/two && rm /data/a/three && mkdir /data/b && touch /usr/bin/made /made &&
                chmod 700 /data/b && cat /data/a/two && cd /data && echo a/* [ab]'
        want_code 0
        want_out '2
x
a/two a b'
done
image layers:1 sh -c 'cat /data/a/two; ls /data/a; ls /made'
want_in_out '2
three
two'
end

# An overlay notes that a directory hides another one in an attribute, which an ordinary user has on tmpfs since 6.6.
begin 'a directory of the image is removed and made again, or it is refused and stays'
image plain:1 sh -c 'rm -r /data/a && mkdir /data/a && echo again >/data/a/x; echo /data/a*; cat /data/a/x'
if [ "$code" = 0 ]; then
        want_out '/data/a
again'
else
        [ "$who" != root ] || problem 'root can do it on every kernel'
        want_in_err "'/data/a': Input/output error"
        want_out '/data/a'
        echo "note $who: on this kernel, directories of an image cannot be removed"
fi
end

begin 'root inside has an unused uid outside, also in an image without a user'
image plain:1 sh -c 'id -u; cat /proc/self/uid_map; echo 1 >/proc/sys/vm/drop_caches || echo refused'
want_code 0
read -r first inside outside n last <<EOF
$(echo $out)
EOF
[ "$first $inside $n $last" = '0 0 1 refused' ] || problem 'it is not root alone inside'
[ "$who" != root ] || [ "$outside" -gt 65536 ] || problem "outside it is $outside"
end

begin 'what is written ends at the disk limit, and that is the reason'
cella run --json --image plain:1 --disk 2M sh -c 'head -c 1500000 /dev/zero >/data/a/big && head -c 1500000 /dev/zero >/big'
want_failure
want_field status disk_limit
end

begin 'a file of the image that is changed counts, too'
cella run --image plain:1 --disk 256K sh -c 'for i in 1 2 3 4; do echo x >>/data/large$i || exit 3; done'
want_code 3
want_in_err '/data/large3: No space left on device'
end

begin 'all walls stand that the same sandbox of this machine has'
cella run --json sh -c true
field missing
host=${out#*'"layers": ['} host=${host%%']}'*}
cella run --json --image plain:1 sh -c true
want_code 0
here=${out#*'"layers": ['} here=${here%%']}'*}
[ "$host" = "$here" ] || problem "host: $host, image: $here"
want_in_out '"landlock"'
end

begin 'a workspace and a mount of the caller are where they were asked for'
mkdir -p "$where/work"
[ "$who" != root ] || chown 1000:1000 "$where/work"
image plain:1 --workspace "$where/work:rw" --mount /vm:/data/a/vm -- sh -c 'echo hello >made; ls /data/a/vm/check.sh; pwd'
want_code 0
want_out '/data/a/vm/check.sh
/workspace'
[ -e "$where/work/made" ] || problem 'the file is not there outside'
end

if [ "$who" = root ]; then
        begin 'a store where the kernel cannot map owners is refused with a way out, before anything runs'
        cp -R "$where/state" /tmp/state
        chown -R "$(stat -c %u:%g "$where/state/images")" /tmp/state/images
        CELLA_STATE=/tmp/state
        image plain:1 sh -c 'echo ran'
        [ "$code" = 0 ] || {
                want_refused 'cannot map the owner' 'ext4'
                want_out ''
                echo "note $who: this kernel cannot map owners on tmpfs"
        }
        rm -rf /tmp/state
        CELLA_STATE=$where/state
        end
fi

begin 'nothing is left behind'
mounts=$(wc -l </proc/mounts)
image plain:1 sh -c true
want_code 0
[ "$(wc -l </proc/mounts)" = "$mounts" ] || problem 'mounts are left'
want_no_trace
cella image rm plain:1 layers:1
want_code 0
cella image gc
want_code 0
[ -z "$(find "$where/state/images/layers" "$where/state/images/roots" -mindepth 1)" ] || problem 'there are files in the store'
end
