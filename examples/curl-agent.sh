#!/bin/sh
# An agent with curl and jq: curl-agent.sh TASK
# Tools come from `cella serve` at CELLA_URL; the model is whatever speaks the protocol of OpenAI's chat completions.
set -eu
cella=${CELLA_URL:-http://127.0.0.1:7070}
model=${MODEL_URL:-https://api.openai.com/v1}
[ $# = 1 ] || { echo "usage: curl-agent.sh TASK" >&2; exit 2; }

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# The answer of a model can be longer than a command line, and arguments are visible to all users: use files.
[ -z "${CELLA_KEY:-}" ] || echo "Authorization: Bearer $CELLA_KEY" >"$room/cella-key"
[ -z "${MODEL_KEY:-}" ] || echo "Authorization: Bearer $MODEL_KEY" >"$room/model-key"
touch "$room/cella-key" "$room/model-key"
curl -sS -H "@$room/cella-key" "$cella/v1/tools?format=openai" >"$room/tools"
jq -n --arg task "$1" '[{role: "user", content: $task}]' >"$room/messages"

round=0
while [ "$round" -lt 20 ]; do
        round=$((round + 1))
        jq -n --arg model "${MODEL_NAME:-gpt-4o-mini}" --slurpfile messages "$room/messages" --slurpfile tools "$room/tools" \
                '{model: $model, messages: $messages[0], tools: $tools[0].tools}' >"$room/request"
        curl -sS --fail-with-body -H 'Content-Type: application/json' -H "@$room/model-key" \
                --data-binary "@$room/request" "$model/chat/completions" | jq '.choices[0].message' >"$room/answer"
        jq -s '.[0] + [.[1]]' "$room/messages" "$room/answer" >"$room/next" && mv "$room/next" "$room/messages"
        calls=$(jq '.tool_calls // [] | length' "$room/answer")
        [ "$calls" != 0 ] || break
        i=0
        while [ "$i" -lt "$calls" ]; do
                name=$(jq -r ".tool_calls[$i].function.name" "$room/answer")
                jq -r ".tool_calls[$i].function.arguments" "$room/answer" >"$room/arguments"
                echo "> $name $(cat "$room/arguments")" >&2
                # The answer of a failed tool is also text for the model.
                curl -sS -H 'Content-Type: application/json' -H "@$room/cella-key" \
                        --data-binary "@$room/arguments" "$cella/v1/tools/$name" >"$room/result"
                jq --rawfile content "$room/result" --arg id "$(jq -r ".tool_calls[$i].id" "$room/answer")" \
                        '. + [{role: "tool", tool_call_id: $id, content: $content}]' "$room/messages" >"$room/next"
                mv "$room/next" "$room/messages"
                i=$((i + 1))
        done
done
jq -r .content "$room/answer"
