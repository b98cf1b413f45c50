# check.sh -- how the tests in this directory say what they prove.
#
#      begin 'what must be true'
#      cella run ...                   leaves $out, $err and $code
#      want_...                        each notes a problem if it finds one
#      end                             prints ok or FAIL, with all problems
#
# Sourced.  $who goes in front of every name.  A program takes 60 ms to start in this
# machine, so what the shell can do by itself it does.

scratch=$(mktemp -d /tmp/check.XXXXXX)

# Hundredths of a second since the machine was started.
now() {
        read -r uptime rest </proc/uptime
        hundredths=${uptime%.*}${uptime#*.}
}

begin() {
        name=$1 problems='' out='' err='' code=''
        now
        began=$hundredths
}

problem() {
        problems="$problems
   $*"
}

end() {
        if [ -n "$problems" ]; then
                echo "FAIL $who: $name$problems"
                [ -z "$code" ] || printf 'exit status %s\nstdout: %.900s\nstderr: %.400s\n' "$code" "$out" "$err" |
                        sed 's/^/   | /'
                return
        fi
        now
        took=$((hundredths - began))
        echo "ok $who: $name ($((took / 100)).$((took / 10 % 10)) s)"
}

skip() {
        echo "skip $who: $1: $2"
}

# steady NAME FUNCTION: a test that measures time.  When the host is busy with other things
# the whole machine stands still for a while, so it gets a second chance.
steady() {
        begin "$1"
        "$2"
        [ -z "$problems" ] || {
                begin "$1"
                "$2"
        }
        end
}

# slurp FILE: what is in it, without the newline at its end, in $text.
slurp() {
        text=
        while IFS= read -r line; do
                text="$text${text:+
}$line"
        done <"$1"
        text="$text${line:+${text:+
}$line}"
}

# Runs a program with nothing to read.  Process 1 ends it after 100 s, and says where it hung.
run() {
        "$@" </dev/null >"$scratch/out" 2>"$scratch/err" &
        now
        echo "$! $((hundredths + 10000))" >/tmp/running
        code=0
        wait $! || code=$?
        : >/tmp/running
        slurp "$scratch/out"
        out=$text
        slurp "$scratch/err"
        err=$text
}

cella() {
        run /usr/bin/cella "$@"
}

# The value of a field of the result, in $value.
field() {
        value=
        case $out in
        *"\"$1\": \""*)
                value=${out#*"\"$1\": \""}
                value=${value%%\"*}
                ;;
        *"\"$1\": "*)
                value=${out#*"\"$1\": "}
                value=${value%%[,\}]*}
                ;;
        esac
}

want_code() {
        [ "$code" = "$1" ] || problem "the exit status is $code, not $1"
}

want_failure() {
        [ "$code" != 0 ] || problem 'the exit status is 0'
}

want_out() {
        [ "$out" = "$1" ] || problem "it printed '$out', not '$1'"
}

want_in_out() {
        case $out in
        *"$1"*) ;;
        *) problem "stdout does not have: $1" ;;
        esac
}

want_in_err() {
        case $err in
        *"$1"*) ;;
        *) problem "stderr does not have: $1" ;;
        esac
}

want_field() {
        field "$1"
        [ "$value" = "$2" ] || problem "$1 is not as it should be:
   $value
   $2"
}

want_between() {
        field "$1"
        whole=${value%%.*}
        [ "${whole:-0}" -ge "$2" ] 2>/dev/null && [ "$whole" -le "$3" ] ||
                problem "$1 is '$value', not between $2 and $3"
}

# All walls, and every limit enforced.
want_complete() {
        want_in_out '"cgroup"'
        want_in_out '"landlock"'
        want_in_out '"missing": []'
}

# Refused by Cella itself: want_refused REASON WAY-OUT.
want_refused() {
        want_code 125
        want_in_err "$1"
        want_in_err "$2"
}

# Whether something comes true within so many tenths of a second.
soon() {
        tenths=$1
        shift
        while ! "$@"; do
                [ "$tenths" -gt 0 ] || return 1
                tenths=$((tenths - 1))
                sleep 0.1
        done
}

# The groups of sandboxes, wherever the tests may have put them, in $found.
groups() {
        found=
        for group in /sys/fs/cgroup/cella-* /sys/fs/cgroup/*/cella-* /sys/fs/cgroup/*/*/cella-*; do
                [ ! -d "$group" ] || found="$found $group"
        done
}

# The processes in them, in $found.
processes() {
        groups
        list=
        for group in $found; do
                while read -r pid; do
                        list="$list $pid"
                done <"$group/cgroup.procs"
        done 2>/dev/null
        found=$list
}

no_groups() {
        groups
        [ -z "$found" ]
}

no_processes() {
        processes
        [ -z "$found" ]
}

# Processes that have this number on their command line.  In brackets, so that grep does
# not find itself.
with_number() {
        grep -l "[${1%"${1#?}"}]${1#?}" /proc/[0-9]*/cmdline 2>/dev/null
}

none_with() {
        ! with_number "$1" >/dev/null
}

# want_none_with NUMBER WHEN
want_none_with() {
        soon 10 none_with "$1" || problem "$2, these are left: $(with_number "$1")"
}

want_no_processes() {
        soon 10 no_processes || problem "$1, these are left: $found"
}

want_no_trace() {
        want_no_processes 'at the end'
        no_groups || problem "groups are left:$found"
}
