"""The records of a logic file and their parser; never runs anything.

    statement ok | statement error <SQLSTATE or its first two letters> | statement count <N>
    <SQL, up to an empty line>

    query <types> [rowsort|nosort] [label]        types: I T R M B D N X, or ? for any
    <SQL>
    ----
    <one line per row, values separated by tabs>

    connection <name>      the statements that follow run in this session, until the next such line
    restart | flush | halt
    skipif <label> / onlyif <label>               before a record; labels: see the runner

`rowsort` is the default. A text starting with # is a comment.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and what it must give: `ok`, `error` with a state, or `count` with a number."""

    sql: str
    expect: Literal["ok", "error", "count"]
    argument: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query, the kinds of its columns, and the rows it must give."""

    sql: str
    types: str
    ordered: bool
    label: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """An order to the runner: connection, restart, flush or halt."""

    verb: Literal["connection", "restart", "flush", "halt"]
    argument: str


Action: TypeAlias = Statement | Query | Command


@dataclass(frozen=True, slots=True)
class Record:
    """An action with its place in the file and the conditions it runs under."""

    line: int
    end_line: int
    action: Action
    skip_if: frozenset[str]
    only_if: frozenset[str]

    def applies(self, labels: frozenset[str]) -> bool:
        """Say whether the record runs under these labels."""
        if self.skip_if & labels:
            return False
        return not self.only_if or bool(self.only_if & labels)


class LogicFileError(Exception):
    """A logic file that cannot be read."""


def parse_file(path: Path) -> list[Record]:
    """Return the records of a logic file."""
    return parse_text(path.read_text(encoding="utf-8"), str(path))


def parse_text(text: str, name: str = "<text>") -> list[Record]:
    """Return the records of a logic script."""
    lines = text.split("\n")
    records: list[Record] = []
    skip_if: set[str] = set()
    only_if: set[str] = set()
    position = 0
    while position < len(lines):
        line = lines[position]
        words = line.split()
        if not words or line.startswith("#"):
            position += 1
            continue
        if words[0] in ("skipif", "onlyif") and len(words) >= 2:
            (skip_if if words[0] == "skipif" else only_if).update(words[1:])
            position += 1
            continue
        end = position + 1
        if words[0] in ("statement", "query"):
            while end < len(lines) and lines[end] != "":
                end += 1
        try:
            action = _action(words, lines[position + 1 : end])
        except ValueError as error:
            raise LogicFileError(f"{name}:{position + 1}: {error}") from error
        records.append(Record(position + 1, end, action, frozenset(skip_if), frozenset(only_if)))
        skip_if.clear()
        only_if.clear()
        position = end
    return records


def _action(words: list[str], body: list[str]) -> Action:
    match words:
        case ["statement", "ok"]:
            return Statement(_sql(body), "ok", "")
        case ["statement", "error", state]:
            return Statement(_sql(body), "error", state)
        case ["statement", "count", number]:
            return Statement(_sql(body), "count", str(int(number)))
        case ["query", types, *options]:
            return _query(types, options, body)
        case ["connection", name]:
            return Command("connection", name)
        case ["restart" | "flush" | "halt" as verb]:
            return Command(verb, "")
    raise ValueError(f"not a record: {' '.join(words)}")


def _query(types: str, options: list[str], body: list[str]) -> Query:
    if "----" in body:
        cut = body.index("----")
        sql, expected = body[:cut], body[cut + 1 :]
    else:
        sql, expected = body, []
    ordered = "nosort" in options
    labels = [option for option in options if option not in ("nosort", "rowsort")]
    if len(labels) > 1:
        raise ValueError(f"more than one label: {labels}")
    return Query(_sql(sql), types, ordered, "".join(labels), tuple(expected))


def _sql(body: list[str]) -> str:
    text = "\n".join(body).strip()
    if not text:
        raise ValueError("a record without SQL")
    return text
