\builtin eval "${BASH_EXECUTION_STRING#*$'\n'}"; while [[ $__cella_state != over ]]; do while __cella_turn; do __cella_turn "$__cella_before" && \builtin :; \builtin eval "$__cella_prefix$__cella_code" 99<&-; { __cella_status=$? __cella_flags=$-; \builtin set +eux; } 2>/dev/null; done; done; \builtin exit 0
# context.bash -- the stateful bash of a context: takes code on a socket, runs it, and keeps what it made.
#
# Runs inside the sandbox as `bash -c`.  The program is the line above; what follows is the text that it evaluates
# first.  Why so:
# - Code must be evaluated outside of any function, or `declare x=1` would be local to it; and on line 1, as LINENO
#   and messages count from there.
# - It stands in a loop, so that code may say `break` or `continue` at its top; what has to be done after a run is in
#   the loop's condition, which both lead to.
# - While code runs descriptor 99, the socket, is closed: bash keeps it elsewhere, close-on-exec, so that no program
#   that the code starts has it.  99 because it is above those that bash takes for itself (up to 63), and below what
#   `ulimit -n` is likely to leave.
# - Code may make any variable readonly, and any name an alias or a function.  So all variables here are __cella_*,
#   bash's own are not set without a look at whether they can be, and everything called is a \builtin (`exec` a
#   \command, or its redirections would not stay).  Only functions of these two names are beyond help.
#
# What ends the shell (`exit`, a failure under `set -e`, an unset variable under `set -u`, a signal by way of its trap)
# comes by the trap for EXIT while all state is still there.  A shell that is in that trap cannot avoid its end, but it
# can fork, and the child goes on with the next run.  So a fork is needed only then, and the marks that are left are
# these: jobs started before are no longer children of the shell, traps of the code's are reset, BASHPID is another and
# $$ that of the first shell.  Code that sets its own trap for EXIT has what it asked for: `exit` runs that and ends the
# context.
#
# The first shell's end would be the context's, so it stays, and ends as the last of the others did.  Each of those has
# a parent of its own that does nothing but wait for it, and tells the first shell how it ended, by way of a pipe (98
# there; the others open it as /proc/$$/fd/98).  A shell that another goes on for says so there before its end.
#
# Left in the code's sight: __cella_* variables and functions, traps for EXIT and for the signals that end a shell.
# No name of bash's own is redefined.

# After a run and before the next: says how the last one ended, fetches the code.  With an argument it only returns that,
# which is how the code finds $? as the run before left it.
__cella_turn() {
        if (($#)); then
                \builtin return "$1"
        fi
        { \builtin set +eux; } 2>/dev/null
        __cella_ended=$__cella_state __cella_before=$__cella_status __cella_json=''
        __cella_state=idle __cella_status=0
        if [[ $__cella_ended == @(exit|interrupted) && ! -S /dev/fd/99 ]]; then
                # Some ends of a subshell do not undo redirections: the socket is still where bash kept it.
                for ((__cella_length = 10; __cella_length < 97; __cella_length++)); do
                        if [[ -S /dev/fd/$__cella_length ]]; then
                                \builtin eval "\\command exec 99<&$__cella_length $__cella_length<&-"
                                \builtin break
                        fi
                done
        fi
        case $__cella_ended in
        run) __cella_json="{\"status\":\"ok\",\"exit_code\":$__cella_before}" ;;
        exit) __cella_json="{\"status\":\"exit\",\"exit_code\":$__cella_before}" ;;
        interrupted) __cella_json='{"status":"interrupted"}' __cella_before=130 ;;
        esac
        if [[ $__cella_ended == run && $__cella_before == 2 ]]; then
                # As a syntax error would have left it.  Only then it is worth a fork to parse the code once more.
                __cella_message=$([[ ${LC_ALL@a} == *r* ]] || LC_ALL=C
                        \builtin eval $'\\builtin set -n\n'"$__cella_code" 2>&1 </dev/null 99<&-)
                if [[ $__cella_message == *'syntax error'* || $__cella_message == *'unexpected EOF'* ]]; then
                        __cella_message=${__cella_message%%$'\n'*}
                        __cella_message=${__cella_message#*eval: line *: }
                        __cella_message=${__cella_message//\\/\\\\}
                        __cella_message=${__cella_message//\"/\\\"}
                        __cella_message=${__cella_message//[[:cntrl:]]/ }
                        __cella_json="{\"name\":\"SyntaxError\",\"message\":\"$__cella_message\",\"traceback\":\"\"}"
                        # %n is in bytes, whatever the locale.
                        \builtin printf -v __cella_message '%s%n' "$__cella_json" __cella_length
                        \builtin printf 'error %d\n%s' "$__cella_length" "$__cella_json" >&99
                        __cella_json='{"status":"error"}'
                fi
        fi
        if [[ $__cella_json ]]; then
                \builtin times >|/dev/null # by asking the kernel charges us for what this run used; else the next might be
        fi
        if [[ $__cella_json ]] && ! \builtin printf 'done %d\n%s' "${#__cella_json}" "$__cella_json" >&99; then
                __cella_state=over
                \builtin return 1
        fi

        __cella_code=''
        # Not `read`, which heeds IFS, and gives up after TMOUT.
        \builtin mapfile -t -n 1 -u 99 __cella_header
        if [[ ${__cella_header-} != 'run '[0-9]* || ${__cella_header#run } == *[!0-9]* ]]; then
                __cella_state=over
                \builtin return 1
        fi
        __cella_state=run
        __cella_length=${__cella_header#run }
        if ! __cella_fetch; then
                __cella_state=over
                \builtin return 1
        fi
        # The options that were taken from the driver are given back inside of what is evaluated, so that `set -x`
        # does not show that.
        __cella_prefix=${__cella_flags//[!eux]/}
        if [[ $__cella_prefix ]]; then
                __cella_prefix="\\builtin set -$__cella_prefix; "
        fi
        \builtin return 0
}

# Reads so many bytes of code.  -t only because it comes before TMOUT.
__cella_fetch() {
        if ((!__cella_length)); then
                \builtin return 0
        fi
        if [[ ${LC_ALL@a} != *r* ]]; then
                # In the C locale a character is a byte.
                LC_ALL=C \builtin read -r -t 1000000 -N "$__cella_length" -u 99 __cella_code
                \builtin return
        fi
        # A character has at most four: so many are there for sure.
        while ((__cella_length)); do
                \builtin read -r -t 1000000 -N "$(((__cella_length + 3) / 4))" -u 99 __cella_part || \builtin return 1
                __cella_code+=$__cella_part
                \builtin printf -v __cella_part '%s%n' "$__cella_part" __cella_bytes
                ((__cella_bytes)) || \builtin return 1
                ((__cella_length -= __cella_bytes, 1))
        done
}

# How the shell of this generation ended, said by its parent.
__cella_tell() {
        \builtin printf '%d %d\n' "$__cella_generation" "$1" >|"/proc/$$/fd/98"
}

# The end of a shell that has made another, which says an empty line.
__cella_leave() {
        \builtin mapfile -t -n 1 -u 98 __cella_said
        if ((!${#__cella_said[@]})); then
                \builtin exit "$__cella_status"
        fi
        if ((__cella_generation > 1)); then
                \builtin printf '+%d\n' "$((__cella_generation - 1))" >|"/proc/$$/fd/98"
                \builtin exit 0
        fi
        \command exec 98<>"/proc/$$/fd/98" # or the pipe would end with whoever writes to it
        __cella_before=0
        while \builtin mapfile -t -n 1 -u 98 __cella_said; do
                if [[ $__cella_said != +* ]]; then
                        ((${__cella_said% *} <= __cella_before)) || \builtin break
                elif ((__cella_said > __cella_before)); then # a slow one may say it after the next
                        __cella_before=${__cella_said#+}
                fi
        done
        __cella_status=${__cella_said#* }
        # 143 is said by our trap for TERM; 147 to 150 would only stop us.
        if ((__cella_status > 128 && __cella_status <= 192 && __cella_status != 143)) &&
                ((__cella_status < 147 || __cella_status > 150)); then
                \builtin trap - "$((__cella_status - 128))"
                \builtin kill -"$((__cella_status - 128))" "$$"
        fi 2>/dev/null
        \builtin exit "$__cella_status"
}

# Also in a shell that goes on for another, which has none.
__cella_traps() {
        # With the socket where it belongs the code has not begun, or is over; then this may be the trap for EXIT
        # already, in which `exit` would end all.  Who interrupts so early does it again.
        \builtin trap '[[ $__cella_state != run || -S /dev/fd/99 ]] || { __cella_state=interrupted; \builtin exit 130; }' INT
        \builtin trap '__cella_state=over; \builtin exit 143' TERM
        # All others for which bash would run the trap for EXIT: there nothing would say that it was a signal.
        for __cella_length in 1 4 5 6 7 8 10 11 12 13 14 24 25 26 31; do
                \builtin trap "[[ \$__cella_state != run || -S /dev/fd/99 ]] || \\builtin exit $((128 + __cella_length))" "$__cella_length"
        done
        # On one line, again for the sake of LINENO.  Signals are ignored from its beginning to where the child has set
        # its own traps, or one would end the child.  Who waits for the child has no standard error, as bash would
        # write there of who was killed.
        \builtin trap '{ __cella_status=$? __cella_flags=$-; \builtin trap "" INT 1 4 5 6 7 8 10 11 12 13 14 24 25 26 31; \builtin set +eux; \command exec 97>&1; } 2>/dev/null; if [[ $__cella_state == @(run|interrupted) ]]; then __cella_state=${__cella_state/#run/exit} __cella_generation=$((__cella_generation + 1)); __cella_leave 98< <(\builtin printf "\n"; { \command exec >&97 97>&- || \command exec >&-; } 2>/dev/null; [[ -e /dev/fd/2 ]] || \command exec 2>/dev/null; \command exec 96>&2 2>/dev/null; (\builtin eval "$__cella_loop") 2>&96 96>&-; __cella_tell "$?"); fi' EXIT
}

exec 99<&3 3<&-
shopt -s expand_aliases
__cella_state=idle __cella_status=0 __cella_flags='' __cella_code='' __cella_prefix='' __cella_before=0 __cella_generation=0
__cella_loop=${BASH_EXECUTION_STRING%%$'\n'*}
__cella_loop="__cella_traps; ${__cella_loop#*; }"
__cella_traps
printf 'ready 0\n' >&99
