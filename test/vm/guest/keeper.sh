# keeper.sh -- the daemon's keeper, with messages of a hostile server; with cgroup v2.
# On the disk, because this kernel's tmpfs cannot map owners.
mkdir -p /home/keeper
TMPDIR=/home/keeper CELLA_SLACK=20 keeper_protocol /usr/bin/cella
