# groups.sh -- root in other places of the hierarchy than its root: where log-in sessions,
# services and containers are.
who='root elsewhere'
. /vm/check.sh

top=/sys/fs/cgroup
all='+memory +pids +cpu'

# enter GROUP: this shell goes there ($$ is it, not a subshell).
enter() {
        echo $$ >"$top/$1/cgroup.procs"
}

echo "$all" >$top/cgroup.subtree_control

begin 'in a session, below a group that hands down everything'
mkdir -p $top/slice/session
echo "$all" >$top/slice/cgroup.subtree_control
enter slice/session
cella run --json --memory 64M --cpus 0.5 sh -c 'sleep 0.3' # time to look
want_code 0
want_complete
end

begin 'what limits the group above limits the sandbox too'
echo 24M >$top/slice/memory.max
cella run --json --memory 300M sh -c 'exec dd if=/dev/zero of=/dev/null bs=200M count=1'
want_code 137
want_field status memory_limit
want_between memory_peak_bytes 10000000 33554432 # the limit is 24M; CPUs charge ahead
enter .
rmdir $top/slice/session $top/slice
end

service() {
        cella run --json --cpus 0.5 --timeout 1s --grace 500ms sh -c 'while :; do :; done'
        want_code 124
        want_complete
        want_between cpu_ms 300 700
}
mkdir -p $top/slice/service
echo '+memory +pids' >$top/slice/cgroup.subtree_control
enter slice/service
steady 'as a service, below a group that hands down memory and pids but not cpu' service
enter .
rmdir $top/slice/service $top/slice

begin 'below a group that hands down nothing'
mkdir -p $top/slice/service
enter slice/service
cella run --json --memory 16M --cpus 0.5 sh -c 'exec dd if=/dev/zero of=/dev/null bs=200M count=1'
want_code 137
want_field status memory_limit
want_complete
enter .
rmdir $top/slice/service $top/slice
end

begin 'in a container with an own group that seems to be the root and is not empty'
mkdir $top/container
cat >"$scratch/inside" <<'INSIDE'
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec /usr/bin/cella run --json --memory 16M sh -c 'exec dd if=/dev/zero of=/dev/null bs=200M count=1'
INSIDE
enter container
run unshare -m -C sh "$scratch/inside"
if [ "$code" = 137 ]; then
        want_field status memory_limit
        want_complete
else
        want_refused cgroup /sys/fs/cgroup
        echo "note in a container: $err"
fi
enter .
soon 10 rmdir $top/container || problem "the container's group is left"
end

begin 'refuses where the hierarchy is read-only'
cat >"$scratch/inside" <<'INSIDE'
mount -o remount,ro,bind /sys/fs/cgroup
exec /usr/bin/cella run sh -c true
INSIDE
run unshare -m sh "$scratch/inside"
want_refused cgroup 'writable at /sys/fs/cgroup'
end

begin 'nothing is left behind'
want_no_trace
end
