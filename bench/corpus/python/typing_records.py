from typing import Any, List, Literal, NamedTuple, Optional, TypedDict, get_args, get_type_hints

Level = Literal["low", "medium", "high"]


class Ticket(TypedDict, total=False):
    id: int
    title: str
    level: Level
    assignee: Optional[str]


class Summary(NamedTuple):
    level: str
    count: int
    titles: List[str]


def validate(data: Any) -> List[str]:
    errors = []
    hints = get_type_hints(Ticket)
    for key in data:
        if key not in hints:
            errors.append(f"unknown field {key}")
    if not isinstance(data.get("id"), int):
        errors.append("id must be an integer")
    if data.get("level") not in get_args(Level):
        errors.append(f"level must be one of {', '.join(get_args(Level))}")
    return errors


tickets: List[Ticket] = [
    {"id": 1, "title": "Login fails", "level": "high", "assignee": "kim"},
    {"id": 2, "title": "Typo", "level": "low", "assignee": None},
    {"id": 3, "title": "Slow query", "level": "high"},
    {"id": "4", "title": "Bad", "level": "urgent", "owner": "x"},  # type: ignore
]
valid = []
for ticket in tickets:
    problems = validate(ticket)
    print(ticket["id"], problems or "ok")
    if not problems:
        valid.append(ticket)

for level in get_args(Level):
    titles = [t["title"] for t in valid if t["level"] == level]
    print(Summary(level, len(titles), titles))
