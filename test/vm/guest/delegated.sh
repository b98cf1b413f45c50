# delegated.sh -- Cella as an ordinary user, in a group below one that was delegated to it.
who='user with a group'
. /vm/check.sh
. /vm/limits.sh

# Many systems delegate memory and pids only.
begin 'where cpu is not handed down, the rest is enforced, and a limit on cores refused'
echo -cpu >/sys/fs/cgroup/delegated/cgroup.subtree_control
cella run --json --memory 16M sh -c "exec $eat_memory"
want_code 137
want_field status memory_limit
want_in_out '"missing": ["limit:cpus"]'
cella run --cpus 0.5 sh -c 'echo it ran'
want_refused 'limit cpus (CPU cores) cannot be enforced' 'delegated cgroup'
want_out ''
end

begin 'nothing is left behind'
want_no_trace
end
