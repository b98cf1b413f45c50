# root.sh -- Cella as root, in the root group of cgroup v2.
who=root
. /vm/check.sh

begin 'says its version'
cella version
want_code 0
want_in_out 'cella '
end

begin 'runs a command and hands on what it printed'
cella run sh -c 'echo hi; id -u; exit 7'
want_code 7
want_out 'hi
1000'
end

. /vm/limits.sh

ignores_sigterm() {
        cella run --json --timeout 500ms --grace 300ms sh -c 'trap "" TERM; sleep 60 & wait; sleep 60'
        want_code 124
        want_field status timeout
        want_between duration_ms 800 1500
}
steady 'a deadline holds against a command that ignores SIGTERM' ignores_sigterm

# The command's last word and the kill come at about the same time.
begin 'a deadline that is just missed is a timeout with a result all the same'
for grace in 50 80 110; do
        cella run --json --cpus 0.2 --timeout 200ms --grace ${grace}ms sh -c "trap 'exit 3' TERM; $spin"
        want_code 124
        want_field status timeout
done
end

begin 'what a command leaves running in the background ends with it'
cella run sh -c 'setsid sleep 9765 & (sleep 9765 &) ; echo done'
want_code 0
want_out 'done'
want_none_with 9765 'after its end'
want_no_trace
end

begin 'tells the files that were made'
cella run --json sh -c 'mkdir d; echo 12345 >d/made; echo 1 >/tmp/elsewhere'
want_code 0
want_in_out '{"path": "d/made", "change": "added", "bytes": 6}'
end

begin 'a disk that is full is the reason'
cella run --json --disk 2M sh -c 'head -c 1500000 /dev/zero >a && head -c 1500000 /dev/zero >b'
want_field status disk_limit
want_failure
end

begin 'a single file larger than the disk is the reason too'
cella run --json --disk 2M sh -c 'head -c 9000000 /dev/zero >a'
want_field status disk_limit
want_failure
end

begin 'a writable workspace on ext4 belongs to its owner on both sides'
mkdir -p /home/user/work
chown 1000:1000 /home/user/work
cella run --workspace /home/user/work:rw sh -c 'touch made && stat -c %u . made'
want_code 0
want_out '1000
1000'
owner=$(stat -c %u:%g /home/user/work/made 2>/dev/null)
[ "$owner" = 1000:1000 ] || problem "the file made belongs to '$owner'"
end

begin 'a writable workspace on tmpfs is mapped, or refused where the kernel cannot map'
mkdir -p /tmp/work
chown 1000:1000 /tmp/work
cella run --workspace /tmp/work:rw -- touch made
if [ "$code" = 0 ]; then
        owner=$(stat -c %u:%g /tmp/work/made)
        [ "$owner" = 1000:1000 ] || problem "the file made belongs to '$owner'"
else
        want_refused 'cannot map the owner' 'mount it read-only'
        [ ! -e /tmp/work/made ] || problem 'and yet the file was made'
fi
end

begin 'a read-only workspace on tmpfs is shown'
echo inside >/tmp/work/text
cella run --workspace /tmp/work sh -c 'cat text; echo >made || echo refused'
want_code 0
want_out 'inside
refused'
end

begin 'SIGTERM ends the sandbox'
/usr/bin/cella run sh -c 'sleep 9654 & sleep 9654' </dev/null >/dev/null 2>&1 &
sleep 0.4
kill -TERM $!
code=0
wait $! || code=$?
want_code 143
want_none_with 9654 'after SIGTERM'
want_no_trace
end

begin 'root inside has an unused uid outside'
cella run --user root sh -c 'id -u; echo >/usr/made || echo refused; echo 1 >/proc/sys/vm/drop_caches || echo refused'
want_code 0
want_out '0
refused
refused'
end

if [ -x /usr/bin/python3 ]; then
        begin 'Python runs, with threads and child processes'
        cella run python3 -c '
import os, threading
t = threading.Thread(target=lambda: print(6 * 7, flush=True))
t.start(); t.join()
os.system("id -u")'
        want_code 0
        want_out '42
1000'
        end
else
        skip 'Python runs' 'this host has no /usr/bin/python3'
fi

begin 'nothing is left behind'
mounts=$(wc -l </proc/mounts)
cella run sh -c true
want_code 0
[ "$(wc -l </proc/mounts)" = "$mounts" ] || problem 'mounts are left'
want_no_trace
end

mkdir /sys/fs/cgroup/probe
for file in memory.peak pids.peak cgroup.kill; do
        [ -e /sys/fs/cgroup/probe/$file ] || echo "note this kernel has no $file"
done
rmdir /sys/fs/cgroup/probe
