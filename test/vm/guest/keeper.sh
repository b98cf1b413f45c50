# keeper.sh -- the daemon's keeper, spoken to by a server that may be anybody; with cgroup v2.
# On the disk, because this kernel's tmpfs cannot map owners.
mkdir -p /home/keeper
TMPDIR=/home/keeper CELLA_SLACK=20 keeper_protocol /usr/bin/cella
