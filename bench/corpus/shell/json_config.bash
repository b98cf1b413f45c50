#!/bin/bash
# Write a configuration, change it, and check it with grep and sed.
set -eu
write_config() {
    local name=$1 port=$2
    cat <<JSON
{
  "name": "$name",
  "port": $port,
  "debug": false
}
JSON
}

write_config demo 8080 >config.json
sed -i -e 's/"debug": false/"debug": true/' -e 's/8080/9090/' config.json
cat config.json
port=$(sed -n 's/.*"port": \([0-9]*\).*/\1/p' config.json)
[[ $port -eq 9090 ]] && echo "port was changed to $port"
if grep -q '"debug": true' config.json; then
    echo "debug is on"
fi
for key in name port timeout; do
    grep -q "\"$key\"" config.json || echo "missing key: $key"
done
