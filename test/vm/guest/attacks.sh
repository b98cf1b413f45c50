# attacks.sh NAME-PART... -- the attack suite on this kernel: the attacks that have one of
# these in their names.  The runner prints a line for each.
who=attacks
. /vm/check.sh

if [ ! -x /usr/bin/attack-run ] || [ ! -x /usr/bin/cella-attacks ]; then
        skip 'all' 'attack-run and cella-attacks were not built'
        exit 0
fi
for part; do
        attack-run /usr/bin/cella-attacks ${part:+"$part"} </dev/null 2>&1 |
                sed -u -e "w $scratch/out" -e '/ passed, .* failed, /d'
        grep -q ' passed, .* failed, ' "$scratch/out" || echo "FAIL attacks: '$part' did not run to its end"
done

begin 'nothing is left behind'
want_no_trace
end
