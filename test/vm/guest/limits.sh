# limits.sh -- the tests for users with cgroups: root, and a user by delegation.
# Sourced after check.sh.

eat_memory='dd if=/dev/zero of=/dev/null bs=200M count=1'
spin='while :; do :; done'

begin 'every wall stands and every limit is enforced'
cella run --json sh -c 'echo hi; id -u; cat /proc/self/cgroup'
want_code 0
want_field status exited
want_field stdout 'hi\n1000\n0::/\n'
want_complete
want_between memory_peak_bytes 100000 100000000
end

begin 'a command that eats memory is killed for it'
cella run --json --memory 64M sh -c "exec $eat_memory"
want_code 137
want_field status memory_limit
want_between memory_peak_bytes 50000000 67108864
end

begin 'a command that fails because its child was killed for memory says memory_limit'
cella run --json --memory 16M sh -c "$eat_memory; echo \$?; exit 3"
want_code 137
want_field status memory_limit
want_field exit_code 3
want_field stdout '137\n'
end

begin 'files in /tmp count as memory'
cella run --json --memory 16M --disk 200M sh -c 'head -c 50000000 /dev/zero >/tmp/file'
want_code 137
want_field status memory_limit
end

begin 'more processes than allowed are refused'
cella run --json --processes 8 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 9 & done; echo all'
want_field status process_limit
want_field stdout ''
want_failure
end

begin 'as many processes as allowed are let be'
cella run --json --processes 8 sh -c 'for i in 1 2 3 4 5 6 7; do sleep 9 & done; echo all'
want_code 0
want_field status exited
want_field stdout 'all\n'
end

half_a_core() {
        cella run --json --cpus 0.5 --timeout 2s --grace 500ms sh -c "$spin"
        want_code 124
        want_field status timeout
        want_between duration_ms 2000 2700
        want_between cpu_ms 700 1300
}
steady 'half a core is half the CPU time' half_a_core

cpu_time() {
        cella run --json --cpu-time 300ms --timeout 9s sh -c "$spin"
        want_field status cpu_limit
        want_between cpu_ms 300 600
        want_code 137
}
steady 'CPU time is limited' cpu_time

cpu_time_of_two() {
        cella run --json --cpus 2 --cpu-time 400ms --timeout 9s sh -c "$spin & $spin & wait"
        want_field status cpu_limit
        want_between cpu_ms 400 900
}
steady 'CPU time of all processes is added up' cpu_time_of_two

begin 'killed with kill -9 it leaves no process, and the next one sweeps its group'
for delay in 0.03 0.1 0.4; do
        /usr/bin/cella run sh -c 'sleep 9876 & setsid sleep 9876 & sleep 9876' </dev/null >/dev/null 2>&1 &
        sleep $delay
        kill -9 $!
        wait $! 2>/dev/null
        want_no_processes "killed after $delay s"
done
want_none_with 9876 'killed'
cella run sh -c true
want_code 0
want_no_trace
end

begin 'four at once do not meet'
for i in 1 2 3 4; do
        /usr/bin/cella run --memory 64M sh -c "sleep 0.3; echo $i" </dev/null >"$scratch/$i" 2>&1 &
done
wait
for i in 1 2 3 4; do
        slurp "$scratch/$i"
        [ "$text" = $i ] || problem "number $i said: $text"
done
want_no_trace
end
