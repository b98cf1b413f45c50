\builtin eval "${BASH_EXECUTION_STRING#*$'\n'}"; while [[ $__cella_state != over ]]; do while __cella_turn; do __cella_turn "$__cella_before" && \builtin :; \builtin eval "$__cella_prefix$__cella_code" 99<&-; { __cella_status=$? __cella_flags=$-; \builtin set +eux; } 2>/dev/null; done; done; \builtin exit 0
# context.bash -- the driver of a bash context: receives code on a socket, runs it, keeps its variables.
#
# It runs inside the sandbox as `bash -c`. The program is the line above; it first evaluates the text that follows. The
# reasons for this structure:
# - Code must be evaluated outside of any function, because `declare x=1` would be local to it; and on line 1, because
#   LINENO and messages count from there.
# - It is evaluated in a loop, so that code can use `break` and `continue` at its top level. The work after a run is in
#   the loop's condition, which both of them reach.
# - While code runs, descriptor 99, the socket, is closed: bash keeps it at another number, close-on-exec, so that no
#   program that the code starts has it. 99 is above the descriptors that bash uses itself (up to 63), and below a
#   likely `ulimit -n`.
# - Code may make any variable readonly, and any name an alias or a function. So all variables here are __cella_*,
#   variables of bash are set only if they are writable, and everything called is a \builtin (`exec` is a \command,
#   because its redirections would not persist otherwise). Functions with these two names cannot be worked around.
#
# Everything that ends the shell (`exit`, a failure under `set -e`, an unset variable under `set -u`, a signal by its
# trap) runs the trap for EXIT while all state still exists. A shell in that trap cannot avoid its end, but it can fork,
# and the child continues with the next run. So a fork is needed only then. The code can notice it by these effects:
# jobs that were started before are no longer children of the shell, its traps are reset, BASHPID is different and $$ is
# that of the first shell. If the code sets its own trap for EXIT, `exit` runs that trap and ends the context.
#
# The end of the first shell would be the end of the context, so it stays, and ends with the status of the last of the
# others. Each of the others has its own parent, which only waits for it and reports to the first shell how it ended,
# through a pipe (98 there; the others open it as /proc/$$/fd/98). A shell that has forked a successor reports this
# there before its end.
#
# The code can see: __cella_* variables and functions, traps for EXIT and for the signals that end a shell. No name of
# bash itself is redefined.

# Called between two runs: reports how the last one ended and receives the next code. With an argument it only returns
# that number, so that the code finds $? as the previous run left it.
__cella_turn() {
        if (($#)); then
                \builtin return "$1"
        fi
        { \builtin set +eux; } 2>/dev/null
        __cella_ended=$__cella_state __cella_before=$__cella_status __cella_json=''
        __cella_state=idle __cella_status=0
        if [[ $__cella_ended == @(exit|interrupted) && ! -S /dev/fd/99 ]]; then
                # Some ends of a subshell do not undo redirections: the socket is still at the number where bash kept
                # it.
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
                # This may have been a syntax error. Only then parse the code once more, which takes a fork.
                __cella_message=$([[ ${LC_ALL@a} == *r* ]] || LC_ALL=C
                        \builtin eval $'\\builtin set -n\n'"$__cella_code" 2>&1 </dev/null 99<&-)
                if [[ $__cella_message == *'syntax error'* || $__cella_message == *'unexpected EOF'* ]]; then
                        __cella_message=${__cella_message%%$'\n'*}
                        __cella_message=${__cella_message#*eval: line *: }
                        __cella_message=${__cella_message//\\/\\\\}
                        __cella_message=${__cella_message//\"/\\\"}
                        __cella_message=${__cella_message//[[:cntrl:]]/ }
                        __cella_json="{\"name\":\"SyntaxError\",\"message\":\"$__cella_message\",\"traceback\":\"\"}"
                        # %n counts bytes in every locale.
                        \builtin printf -v __cella_message '%s%n' "$__cella_json" __cella_length
                        \builtin printf 'error %d\n%s' "$__cella_length" "$__cella_json" >&99
                        __cella_json='{"status":"error"}'
                fi
        fi
        if [[ $__cella_json ]]; then
                # updates the CPU time in the kernel, so that it is charged to this run and not to the next
                \builtin times >|/dev/null
        fi
        if [[ $__cella_json ]] && ! \builtin printf 'done %d\n%s' "${#__cella_json}" "$__cella_json" >&99; then
                __cella_state=over
                \builtin return 1
        fi

        __cella_code=''
        # Not `read`, which depends on IFS and on TMOUT.
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
        # Options that were reset for the driver are set again inside the evaluated text, so that `set -x` does not
        # print that.
        __cella_prefix=${__cella_flags//[!eux]/}
        if [[ $__cella_prefix ]]; then
                __cella_prefix="\\builtin set -$__cella_prefix; "
        fi
        \builtin return 0
}

# Reads the given number of bytes of code. -t overrides TMOUT.
__cella_fetch() {
        if ((!__cella_length)); then
                \builtin return 0
        fi
        if [[ ${LC_ALL@a} != *r* ]]; then
                # In the C locale a character is a byte.
                LC_ALL=C \builtin read -r -t 1000000 -N "$__cella_length" -u 99 __cella_code
                \builtin return
        fi
        # A character has at most four bytes, so at least this many characters are there.
        while ((__cella_length)); do
                \builtin read -r -t 1000000 -N "$(((__cella_length + 3) / 4))" -u 99 __cella_part || \builtin return 1
                __cella_code+=$__cella_part
                \builtin printf -v __cella_part '%s%n' "$__cella_part" __cella_bytes
                ((__cella_bytes)) || \builtin return 1
                ((__cella_length -= __cella_bytes, 1))
        done
}

# Reports how the shell of this generation ended; called by its parent.
__cella_tell() {
        \builtin printf '%d %d\n' "$__cella_generation" "$1" >|"/proc/$$/fd/98"
}

# Waits until the first shell has opened the pipe: a report that cannot be written would be lost.
__cella_await() {
        until [[ -p /proc/$$/fd/98 || ! -r /proc/$$/fd ]]; do
                \builtin :
        done
}

# Ends a shell that has forked a successor, after reporting an empty line.
__cella_leave() {
        \builtin mapfile -t -n 1 -u 98 __cella_said
        if ((!${#__cella_said[@]})); then
                \builtin exit "$__cella_status"
        fi
        if ((__cella_generation > 1)); then
                \builtin printf '+%d\n' "$((__cella_generation - 1))" >|"/proc/$$/fd/98"
                \builtin exit 0
        fi
        \command exec 98<>"/proc/$$/fd/98" # otherwise the pipe would end with its writer
        __cella_before=0
        while \builtin mapfile -t -n 1 -u 98 __cella_said; do
                if [[ $__cella_said != +* ]]; then
                        ((${__cella_said% *} <= __cella_before)) || \builtin break
                elif ((__cella_said > __cella_before)); then # a slow process may report after the next one
                        __cella_before=${__cella_said#+}
                fi
        done
        __cella_status=${__cella_said#* }
        # 143 comes from our trap for TERM; 147 to 150 would only stop us.
        if ((__cella_status > 128 && __cella_status <= 192 && __cella_status != 143)) &&
                ((__cella_status < 147 || __cella_status > 150)); then
                \builtin trap - "$((__cella_status - 128))"
                \builtin kill -"$((__cella_status - 128))" "$$"
        fi 2>/dev/null
        \builtin exit "$__cella_status"
}

# Sets the traps; also in a forked successor, which has none.
__cella_traps() {
        # If the socket is at its own number, the code has not begun or has ended. Then the shell may already be in the
        # trap for EXIT, where `exit` would end the context. A client that interrupts this early does it again.
        \builtin trap '[[ $__cella_state != run || -S /dev/fd/99 ]] || { __cella_state=interrupted; \builtin exit 130; }' INT
        \builtin trap '__cella_state=over; \builtin exit 143' TERM
        # All other signals for which bash would run the trap for EXIT, where it could not be seen that it was a signal.
        for __cella_length in 1 4 5 6 7 8 10 11 12 13 14 24 25 26 31; do
                \builtin trap "[[ \$__cella_state != run || -S /dev/fd/99 ]] || \\builtin exit $((128 + __cella_length))" "$__cella_length"
        done
        # One line, again because of LINENO. Signals are ignored from its beginning until the child has set its own
        # traps, because a signal would end the child. The process that waits for the child has no standard error,
        # because bash would print there that the child was killed.
        \builtin trap '{ __cella_status=$? __cella_flags=$-; \builtin trap "" INT 1 4 5 6 7 8 10 11 12 13 14 24 25 26 31; \builtin set +eux; \command exec 97>&1; } 2>/dev/null; if [[ $__cella_state == @(run|interrupted) ]]; then __cella_state=${__cella_state/#run/exit} __cella_generation=$((__cella_generation + 1)); __cella_leave 98< <(\builtin printf "\n"; __cella_await; { \command exec >&97 97>&- || \command exec >&-; } 2>/dev/null; [[ -e /dev/fd/2 ]] || \command exec 2>/dev/null; \command exec 96>&2 2>/dev/null; (\builtin eval "$__cella_loop") 2>&96 96>&-; __cella_tell "$?"); fi' EXIT
}

exec 99<&3 3<&-
shopt -s expand_aliases
__cella_state=idle __cella_status=0 __cella_flags='' __cella_code='' __cella_prefix='' __cella_before=0 __cella_generation=0
__cella_loop=${BASH_EXECUTION_STRING%%$'\n'*}
__cella_loop="__cella_traps; ${__cella_loop#*; }"
__cella_traps
printf 'ready 0\n' >&99
