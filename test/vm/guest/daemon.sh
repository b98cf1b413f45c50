# daemon.sh -- the daemon, as root and as an ordinary user: $who, with a directory on the disk: $where.
. /vm/check.sh
state=$where/daemon
export CELLA_STATE=$state CELLA_SOCKET=$where/socket
mkdir -p "$where"
cd "$where" || exit

# exec JSON: what POST /v1/exec answers.
exec_() {
        run /usr/bin/python3 -I /vm/post.py "$CELLA_SOCKET" "$@"
}

answers() {
        /usr/bin/cella ls >/dev/null 2>&1
}

pool_is() {
        run /usr/bin/python3 -I /vm/post.py "$CELLA_SOCKET" /v1/pools
        case $out in
        *"$1"*) return 0 ;;
        esac
        return 1
}

begin 'it starts and runs code'
/usr/bin/cella serve --state "$state" --socket "$CELLA_SOCKET" --listen none >"$where/log" 2>&1 &
daemon=$!
soon 300 answers || problem "it does not answer: $(tail -n 3 "$where/log")"
run /usr/bin/cella settings set pools '[]'
want_code 0
exec_ '{"runtime": "sh", "code": "echo $((6*7)); id -u"}'
want_in_out '"stdout":"42\n1000\n"'
end

begin 'an image is imported and used, with its own user and as root'
run /usr/bin/cella image import /vm/images.tar
want_code 0
exec_ '{"image": "layers:1", "command": ["sh", "-c", "id -u; echo /gone /old/*; touch /made; pwd"]}'
want_in_out '"stdout":"1234\n/gone /old/new\n/srv\n"'
exec_ '{"image": "plain:1", "runtime": "sh", "code": "id -u; rm /gone; echo /gone*"}'
want_in_out '"stdout":"0\n/gone*\n"'
end

begin 'a sandbox of an image lives on'
run /usr/bin/cella create --image plain:1
want_code 0
sandbox=$out
run /usr/bin/cella exec "$sandbox" -- sh -c 'echo kept >/data/a/kept; echo more >>/data/a/one'
want_code 0
run /usr/bin/cella exec "$sandbox" -- cat /data/a/kept /data/a/one
want_out 'kept
1
more'
run /usr/bin/cella rm "$sandbox"
want_code 0
end

begin 'interpreters wait, of this machine and of an image'
run /usr/bin/cella settings set pools '[{"runtime": "python3", "size": 1}, {"runtime": "sh", "size": 1, "image": "plain:1"}]'
want_code 0
soon 25 pool_is '"waits":"template"' || problem "no template: $out"
soon 25 pool_is '"waits":"started"' || problem "no shell that waits: $out"
exec_ '{"runtime": "python3", "code": "import os; print(6 * 7, os.getpid())"}'
want_in_out '"stdout":"42 '
exec_ '{"image": "plain:1", "runtime": "sh", "code": "cat /data/a/two; id -u"}'
want_in_out '"stdout":"2\n0\n"'
pool_is '"hits":1' || problem 'neither came from a pool'
end

begin 'the bound of the store holds'
run /usr/bin/cella settings set images.max_bytes 1000000
want_code 0
soon 100 test -e "$state/images/max_bytes" || problem 'it is not written down'
run /usr/bin/cella image import /vm/images.tar other:1
want_failure
want_in_err 'images.max_bytes'
end

begin 'it ends, and leaves nothing'
kill -TERM $daemon
code=0
wait $daemon || code=$?
want_code 0
want_no_trace
end
