"""The records of DuckDB's sqllogictest files, with their loops unrolled; never runs anything.

The directives are described in DuckDB's documentation of sqllogictest. A file that needs what we
cannot give it (an extension, an environment, threads) raises `Unsuitable` with the reason.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.differential.suites.differences import Unsuitable

EXTENSIONS = frozenset({"core_functions", "parquet", "json", "icu", "skip_reload", "64bit"})
"""What `require` may ask for; the first four are in the wheel of DuckDB."""
HARMLESS = frozenset({"vector_size", "block_size", "noforcestorage", "no_alternative_verify"})
_FOREACH = {
    "<signed>": "tinyint smallint integer bigint hugeint",
    "<unsigned>": "utinyint usmallint uinteger ubigint uhugeint",
    "<integral>": "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint",
    "<numeric>": "tinyint smallint integer bigint hugeint float double",
    "<alltypes>": "bool tinyint smallint integer bigint hugeint float double date time varchar",
    "<compression>": "uncompressed rle bitpacking dictionary fsst alp",
}
_OVER = re.compile(r"\bOVER\s*\((?:[^()]|\([^()]*\))*\)", re.I)
"""A window, whose order is none of the query's."""
_IGNORED = frozenset({"hash-threshold", "tags", "sleep", "set", "unskip", "test-env", "template"})


@dataclass(frozen=True, slots=True)
class Record:
    """A statement or query: what the suite says it gives, and the session that runs it."""

    line: int
    kind: Literal["ok", "error", "maybe", "query", "restart", "load"]
    text: str
    connection: str = "default"
    ordered: bool = False


def read_file(path: Path, places: dict[str, str]) -> list[Record]:
    """The records of a file; `places` are what `__TEST_DIR__` and the like stand for."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    lines = list(enumerate(text.split("\n"), 1))
    return list(_records(lines, places))


def _records(
    lines: Sequence[tuple[int, str]], values: dict[str, str], *, depth: int = 0
) -> Iterator[Record]:
    position = 0
    skipping = omit = False
    while position < len(lines):
        number, line = lines[position]
        words = line.split()
        position += 1
        if not words or line.startswith("#"):
            continue
        if words[0] in {"loop", "foreach"}:
            end = _end_of_loop(lines, position)
            for value in _loop_values(words):
                if not skipping:
                    inner = {**values, words[1]: value}
                    yield from _records(lines[position:end], inner, depth=depth + 1)
            position = end + 1
            continue
        body: list[str] = []
        if words[0] in {"statement", "query"}:
            while position < len(lines) and lines[position][1].strip():
                if not lines[position][1].startswith("#"):
                    body.append(lines[position][1])
                position += 1
        if words[0] == "mode":
            skipping = words[1] == "skip" or (skipping and words[1] != "unskip")
            continue
        if skipping:
            continue
        if words[0] in {"skipif", "onlyif"}:
            omit = (words[1] == "duckdb") == (words[0] == "skipif") or "=" in line
            continue
        if omit:
            omit = False
            continue
        if words[0] in {"halt", "continue"}:
            return
        record = _record(number, words, body, values)
        if record is not None:
            yield record


def _record(
    number: int, words: list[str], body: list[str], values: dict[str, str]
) -> Record | None:
    match words:
        case ["statement", "ok" | "error" | "maybe" as kind, *rest]:
            name = rest[0] if rest else "default"
            return Record(number, kind, _sql(body, values), name)
        case ["query", _, *rest]:
            names = [word for word in rest if word not in {"nosort", "rowsort", "valuesort"}]
            sql = _sql(body, values)
            ordered = "order by" in _OVER.sub("", sql).lower() and not {
                "rowsort",
                "valuesort",
            } & set(rest)
            # A word after the kinds is a session if it looks like one, else a label.
            name = next((n for n in names if n.startswith("con")), "default")
            return Record(number, "query", sql, name, ordered)
        case ["restart" | "reconnect", *_]:
            return Record(number, "restart", "")
        case ["load", *_]:
            return Record(number, "load", "")
        case ["require", name, *_] if name.lower() not in EXTENSIONS | HARMLESS:
            raise Unsuitable(f"requires {name}")
        case ["require", *_]:
            return None
        case [word, *_] if word in _IGNORED:
            return None
    raise Unsuitable(f"directive {words[0]}")


def _sql(body: Sequence[str], values: dict[str, str]) -> str:
    lines = itertools.takewhile(lambda line: line.strip() != "----", body)
    text = "\n".join(lines).strip()
    for name, value in values.items():
        text = text.replace("${" + name + "}", value).replace("{" + name + "}", value)
        text = text.replace(f"__{name}__", value)
    return text


def _loop_values(words: Sequence[str]) -> list[str]:
    if words[0] == "loop":
        first, last = int(words[2]), int(words[3])
        return [str(i) for i in range(first, min(last, first + 20))]
    taken = [value for word in words[2:] for value in _FOREACH.get(word, word).split()]
    unwanted = {value[1:] for value in taken if value.startswith("!")}
    return [value for value in taken if value not in unwanted and not value.startswith("!")]


def _end_of_loop(lines: Sequence[tuple[int, str]], position: int) -> int:
    depth = 1
    for index in range(position, len(lines)):
        word = lines[index][1].split(" ", 1)[0].strip()
        depth += (word in {"loop", "foreach"}) - (word == "endloop")
        if depth == 0:
            return index
    raise Unsuitable("a loop without an end")
