#!/usr/bin/env python3
"""An agent by function calling, without packages: openai_agent.py TASK

Tools come from `cella serve` at CELLA_URL; the model is whatever speaks the protocol of OpenAI's chat completions."""

import json
import os
import sys
import urllib.error
import urllib.request

CELLA = os.environ.get("CELLA_URL", "http://127.0.0.1:7070")
MODEL = os.environ.get("MODEL_URL", "https://api.openai.com/v1")
ROUNDS = 20


def fetch(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=600) as answer:
        return json.load(answer)


def call_tool(call):
    """Returns the result as text for the model.  A failed tool does not end the conversation."""
    function = call["function"]
    print(f"> {function['name']} {function['arguments']}", file=sys.stderr)
    try:
        url = f"{CELLA}/v1/tools/{function['name']}"
        content = fetch(url, json.loads(function["arguments"]), os.environ.get("CELLA_KEY"))
    except urllib.error.HTTPError as e:
        content = json.load(e)
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(content)}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: openai_agent.py TASK")
    tools = fetch(f"{CELLA}/v1/tools?format=openai", key=os.environ.get("CELLA_KEY"))["tools"]
    messages = [{"role": "user", "content": sys.argv[1]}]
    for _ in range(ROUNDS):
        body = {"model": os.environ.get("MODEL_NAME", "gpt-4o-mini"), "messages": messages, "tools": tools}
        answer = fetch(f"{MODEL}/chat/completions", body, os.environ.get("MODEL_KEY"))["choices"][0]["message"]
        messages.append(answer)
        if not answer.get("tool_calls"):
            print(answer["content"])
            return
        messages += [call_tool(call) for call in answer["tool_calls"]]


if __name__ == "__main__":
    main()
