#!/bin/sh
# valgrind.sh COMMAND... -- runs it with an empty directory /tmp/cella-valgrind, where valgrind writes what it found;
# if the command fails, prints that.
set -u
logs=/tmp/cella-valgrind
rm -rf "$logs"
mkdir "$logs" && chmod 1777 "$logs" || exit 2
"$@"
status=$?
[ "$status" = 0 ] || grep -h '==.*==' "$logs"/* | head -n 40 | sed 's/^/    /'
rm -rf "$logs"
exit "$status"
