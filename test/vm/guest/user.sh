# user.sh -- Cella as an ordinary user to whom no group is delegated.
who=user
. /vm/check.sh
cd /home/user || exit

begin 'runs a command and hands on what it printed'
cella run sh -c 'echo hi; id -u; exit 7'
want_code 7
want_out 'hi
1000'
end

begin 'says what cannot be enforced'
cella run --json sh -c true
want_code 0
want_in_out '"seccomp", "landlock"]'
want_in_out '"missing": ["cgroup", "limit:memory", "limit:cpus", "limit:cpu_time"]'
end

begin 'refuses limits that it was asked for and cannot enforce'
for limit in '--memory 64M' '--cpus 0.5' '--cpu-time 1s'; do
        # shellcheck disable=SC2086 # two words
        cella run $limit sh -c 'echo it ran'
        want_refused 'cannot be enforced' 'delegated cgroup'
        want_out ''
done
end

begin 'more processes than allowed are refused'
cella run --processes 8 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 9 & done; echo all'
want_code 2
want_out ''
want_in_err 'fork'
end

begin 'a deadline holds against a command that ignores SIGTERM'
cella run --json --timeout 500ms --grace 300ms sh -c 'trap "" TERM; sleep 60 & wait; sleep 60'
want_code 124
want_field status timeout
end

begin 'a writable workspace gets files of its owner'
mkdir -p own
cella run --workspace own:rw sh -c 'touch made && stat -c %u . made'
want_code 0
want_out '1000
1000'
owner=$(stat -c %u:%g own/made 2>/dev/null)
[ "$owner" = 1000:1000 ] || problem "the file made belongs to '$owner'"
end

begin 'killed with kill -9 it leaves no process'
for delay in 0.03 0.1 0.4; do
        /usr/bin/cella run sh -c 'sleep 9543 & setsid sleep 9543 & sleep 9543' </dev/null >/dev/null 2>&1 &
        sleep $delay
        kill -9 $!
        wait $! 2>/dev/null
        want_none_with 9543 "killed after $delay s"
done
end
