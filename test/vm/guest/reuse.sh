# reuse.sh -- control groups of cgroup v2 that are made ahead and reused.
mkdir -p /home/keeper
for name in groups_ in_a_steady_state; do
        TMPDIR=/home/keeper CELLA_SLACK=20 keeper_protocol /usr/bin/cella --only $name
done
