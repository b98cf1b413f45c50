# closed.sh -- Cella as an ordinary user on a machine that forbids user namespaces.
who='user without namespaces'
. /vm/check.sh

begin 'says what to do'
cella run sh -c 'echo it ran'
want_refused 'user: cannot make namespaces' 'user.max_user_namespaces'
want_out ''
end
