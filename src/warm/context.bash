eval "${BASH_EXECUTION_STRING#*$'\n'}"; while [[ $__cella_state != over ]]; do while __cella_turn; do __cella_turn "$__cella_before" && :; builtin eval "$__cella_prefix$__cella_code" 249>&- 250<&-; { __cella_status=$? __cella_flags=$-; builtin set +eux; } 2>/dev/null; done; done
# context.bash -- the stateful bash of a context: takes code on a socket, runs it, and keeps what it made.
#
# Runs inside the sandbox as `bash -c`.  The program is the line above; what follows is the text that it evaluates
# first.  Why so:
# - Code must be evaluated outside of any function, or `declare x=1` would be local to it; and on line 1, as LINENO
#   and messages count from there.
# - It stands in a loop, so that code may say `break` or `continue` at its top; what has to be done after a run is in
#   the loop's condition, which both lead to.
# - While code runs descriptor 250, the socket, is closed: bash keeps it elsewhere, close-on-exec, so that no program
#   that the code starts has it.
#
# What ends the shell (`exit`, a failure under `set -e`, an unset variable under `set -u`, SIGINT by way of its trap)
# comes by the trap for EXIT while all state is still there.  A shell that is in that trap cannot avoid its end, but it
# can fork, and the child goes on with the next run.  The first shell, whose end would be the context's, waits
# until a pipe says that the last of them is gone (249 is the other end).  So a fork is needed only then, and the marks
# that are left are these: jobs started before are no longer children of the shell, traps of the code's are reset,
# BASHPID is another and $$ that of the first shell.  Code that sets its own trap for EXIT has what it asked
# for: `exit` runs that and ends the context.
#
# Left in the code's sight: __cella_* variables, the function __cella_turn, traps for EXIT, INT and TERM.
# No name of bash's own is redefined.

# After a run and before the next: says how the last one ended, fetches the code.  With an argument it only returns that,
# which is how the code finds $? as the run before left it.
__cella_turn() {
        if (($#)); then
                return "$1"
        fi
        { builtin set +eux; } 2>/dev/null
        local state=$__cella_state status=$__cella_status json='' header length
        __cella_state=idle __cella_status=0
        if [[ $state == @(exit|interrupted) && ! -S /dev/fd/250 ]]; then
                # Some ends of a subshell do not undo redirections: the socket is still where bash kept it.
                for ((length = 10; length < 100; length++)); do
                        if [[ -S /dev/fd/$length ]]; then
                                builtin eval "exec 250<&$length $length<&-"
                                break
                        fi
                done
        fi
        case $state in
        run) json="{\"status\":\"ok\",\"exit_code\":$status}" ;;
        exit) json="{\"status\":\"exit\",\"exit_code\":$status}" ;;
        interrupted) json='{"status":"interrupted"}' status=130 ;;
        esac
        if [[ $state == run && $status == 2 ]]; then
                # As a syntax error would have left it.  Only then it is worth a fork to parse the code once more.
                local message
                message=$(LC_ALL=C; builtin eval $'set -n\n'"$__cella_code" 2>&1 </dev/null 250<&-)
                if [[ $message == *'syntax error'* || $message == *'unexpected EOF'* ]]; then
                        local LC_ALL=C # for ${#...} in bytes
                        message=${message%%$'\n'*}
                        message=${message#*eval: line *: }
                        message=${message//\\/\\\\}
                        message=${message//\"/\\\"}
                        message=${message//[[:cntrl:]]/ }
                        json="{\"name\":\"SyntaxError\",\"message\":\"$message\",\"traceback\":\"\"}"
                        builtin printf 'error %d\n%s' "${#json}" "$json" >&250
                        json='{"status":"error"}'
                fi
        fi
        if [[ $json ]]; then
                builtin times >|/dev/null # by asking the kernel charges us for what this run used; else the next might be
        fi
        if [[ $json ]] && ! builtin printf 'done %d\n%s' "${#json}" "$json" >&250; then
                __cella_state=over
                return 1
        fi

        __cella_code=''
        if ! IFS='' builtin read -r -u 250 header || [[ $header != 'run '[0-9]* || ${header#run } == *[!0-9]* ]]; then
                __cella_state=over
                return 1
        fi
        __cella_state=run # SIGINT counts from here
        length=${header#run }
        # In the C locale a character is a byte.
        if ((length)) && ! LC_ALL=C IFS='' builtin read -r -N "$length" -u 250 __cella_code; then
                __cella_state=over
                return 1
        fi
        # The options that were taken from the driver are given back inside of what is evaluated, so that `set -x`
        # does not show that.
        __cella_prefix=${__cella_flags//[!eux]/} __cella_before=$status
        if [[ $__cella_prefix ]]; then
                __cella_prefix="set -$__cella_prefix; "
        fi
        return 0
}

if [[ ! ${__cella_state-} ]]; then
        exec 250<&3 3<&-
        shopt -s expand_aliases
        __cella_state=idle __cella_status=0 __cella_flags='' __cella_code='' __cella_prefix='' __cella_before=0 __cella_forks=0
        __cella_loop=${BASH_EXECUTION_STRING%%$'\n'*}
        printf 'ready 0\n' >&250
fi
trap '[[ $__cella_state != run ]] || { __cella_state=interrupted; exit 130; }' INT
trap '__cella_state=over; exit 143' TERM
# On one line, again for the sake of LINENO.
trap '{ __cella_status=$? __cella_flags=$-; set +eux; exec 248>&1; } 2>/dev/null; if [[ $__cella_state == @(run|interrupted) ]]; then [[ $__cella_state != run ]] || __cella_state=exit; if ((__cella_forks++)); then : < <({ exec >&248 248>&- || exec >&-; } 2>/dev/null; (eval "$__cella_loop")); else trap "" INT HUP USR1 USR2; read -r -d "" < <({ exec 249>&1; exec >&248 248>&- || exec >&-; } 2>/dev/null; trap - HUP USR1 USR2; (eval "$__cella_loop")); exit 0; fi; fi' EXIT
