"""Compares the answers that tests receive with /openapi.json: each status, and each field of a JSON answer."""

import contextlib
import json
import os
import re
import tempfile
import urllib.parse

import support
from support import fail

TYPES = {
    "object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list), "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool), "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool), "null": lambda v: v is None,
}  # fmt: skip
UNDERSTOOD = {
    "$ref", "type", "enum", "properties", "required", "additionalProperties", "items", "oneOf", "anyOf", "minimum", "maximum", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "title", "description", "default",
}  # fmt: skip


class Document:
    def __init__(self, document):
        self.document = document
        self.routes = []  # those without parameters first, as the server does
        for pattern, operations in document["paths"].items():
            expression = re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in pattern.split("/")))
            self.routes.append((pattern.count("{"), expression, operations))
        self.routes.sort(key=lambda route: route[0])

    def at(self, ref):
        value = self.document
        for name in ref.removeprefix("#/").split("/"):
            value = value[name]
        return value

    def operation(self, method, target):
        path = urllib.parse.urlsplit(target).path
        for _, expression, operations in self.routes:
            if expression.fullmatch(path) and method.lower() in operations:
                return operations[method.lower()]
        return None

    def wrong(self, schema, value, where=""):
        """What is wrong with a value: text, or None."""
        if "$ref" in schema:
            return self.wrong(self.at(schema["$ref"]), value, where)
        unknown = set(schema) - UNDERSTOOD
        if unknown:
            return f"{where}: this validator does not understand {sorted(unknown)}"
        for word in ("oneOf", "anyOf"):
            if word in schema:
                faults = [self.wrong(s, value, where) for s in schema[word]]
                good = faults.count(None)
                return None if good == 1 or good and word == "anyOf" else f"{where}: {good} of {word}: {faults}"
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(TYPES[t](value) for t in types):
            return f"{where}: {json.dumps(value)[:80]} is no {' or '.join(types)}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{where}: {value!r} is none of {schema['enum']}"
        return self.wrong_range(schema, value, where) or self.wrong_content(schema, value, where)

    @staticmethod
    def wrong_range(schema, value, where):
        length = (("String", str, "Length"), ("Array", list, "Items"), ("Object", dict, "Properties"))
        size = next((n for _, kind, n in length if isinstance(value, kind)), None)
        have = len(value) if size else value
        names = ("min" + size, "max" + size) if size else ("minimum", "maximum")
        if isinstance(value, bool) or value is None:
            return None
        if have < schema.get(names[0], have) or have > schema.get(names[1], have):
            return f"{where}: {json.dumps(value)[:80]} is out of range {schema}"
        return None

    def wrong_content(self, schema, value, where):
        if isinstance(value, list):
            found = (self.wrong(schema.get("items", {}), v, f"{where}[{i}]") for i, v in enumerate(value))
        elif isinstance(value, dict):
            missing = [name for name in schema.get("required", []) if name not in value]
            if missing:
                return f"{where}: {missing} missing"
            known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
            extra = [name for name in value if name not in known]
            if extra and other is False:
                return f"{where}: unknown {extra}"
            found = (self.wrong(known.get(name, other if isinstance(other, dict) else {}), v, f"{where}.{name}") for name, v in value.items())
        else:
            return None
        return next((w for w in found if w), None)

    def responses(self, operation, status):
        response = operation["responses"].get(str(status))
        return self.at(response["$ref"]) if response and "$ref" in response else response

    def check(self, answer):
        """An answer of the daemon.  Paths and methods that it does not have are none of this document's."""
        operation = self.operation(answer.method, answer.target)
        if not operation:
            return
        response = self.responses(operation, answer.status)
        if response is None:
            fail(f"{operation['operationId']} has no status {answer.status} in /openapi.json", answer)
        if not answer.body:
            return
        media = answer.headers.get("Content-Type", "").partition(";")[0]
        content = response.get("content", {})
        if media != "application/json":
            return
        if media not in content:
            # The content of a file has the media type of its name.
            if "application/octet-stream" not in content:
                fail(f"{operation['operationId']} {answer.status} is no {media} in /openapi.json", answer)
            return
        fault = self.wrong(content[media].get("schema", {}), json.loads(answer.body), operation["operationId"])
        if fault:
            fail(f"not as in /openapi.json: {fault}", answer)

    def check_event(self, method, target, name, data):
        operation = self.operation(method, target)
        for status in ("200", "201"):
            events = (operation or {}).get("responses", {}).get(status, {}).get("content", {}).get("text/event-stream", {}).get("x-events")
            if events is None:
                continue
            if name not in events:
                fail(f"{operation['operationId']}: the event {name} is not in /openapi.json", str(data))
            fault = self.wrong(events[name], data, f"{operation['operationId']} {name}")
            if fault:
                fail(f"not as in /openapi.json: {fault}")


_document = None


def document(read):
    """The document of the server under test.  One test of a run reads it, for all that can write beside their directories."""
    global _document
    if _document is None:
        path = os.path.join(os.path.dirname(support.home), "openapi.json")
        try:
            with open(path) as f:
                text = f.read()
        except OSError:
            text = read()
            with contextlib.suppress(OSError):
                fd, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
                with os.fdopen(fd, "w") as f:
                    f.write(text)
                os.chmod(temporary, 0o644)
                os.replace(temporary, path)
        _document = Document(json.loads(text))
    return _document
