"""A golden file: what its author writes, and what the rewriter makes of it.

    -- An UPDATE of a row found by its key.
    -- stores: embedded, postgresql, hive
    -- setup
    CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
    INSERT INTO main.t VALUES (1, 1);
    -- statement
    UPDATE main.t SET a = 2 WHERE k = 1;
    -- plan: embedded
    ..

The folder names the rule, the file the case. Sections of the author's:

- ``setup``: statements in DuckDB's dialect; a line ``-- mark m`` names the moment between two.
- ``statement``: one statement; ``main.t/*@m*/`` reads a table as it was at a mark.
- ``oracle``: what an ordinary DuckDB table is given instead, where it has no such statement.

Options, one ``-- name: value`` a line: ``stores`` (whose plans are shown, the embedded one unless
given), ``client`` (the dialect of the statement, else duckdb), ``tiers`` (what journals hold, else
base, delta and head), ``form: cached`` (the plan for rows that are in memory) and ``run: no``, with
the reason, for what a plain database cannot check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_HEADINGS = re.compile(r"^-- (setup|statement|oracle|plan.*|refused.*)$", re.MULTILINE)
_OPTION = re.compile(r"^-- (stores|client|tiers|form|run): (.*)$", re.MULTILINE)
_MARKED = re.compile(r"(\w+)\.(\w+)/\*@(\w+)\*/")
_MARK = re.compile(r"^-- mark (\w+)\n", re.MULTILINE)

Marked = Callable[[str, str, str], str]
"""Spells a table as it was at a mark: of schema, table and mark."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of the setup that has a name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One golden file; ``written`` is its author's part, ``golden`` the rest."""

    path: Path
    options: dict[str, str]
    setup: tuple[str | Mark, ...]
    statement: str
    oracle: str
    written: str
    golden: str

    @property
    def name(self) -> str:
        """Rule and case: ``update/by_key``."""
        return self.path.relative_to(FOLDER).with_suffix("").as_posix()

    @property
    def definitions(self) -> list[str]:
        """The CREATE statements of the setup."""
        return [s for s in self.setup if isinstance(s, str) and s.upper().startswith("CREATE")]

    def listed(self, option: str, default: str) -> list[str]:
        """The values of an option, separated by commas."""
        return [v.strip() for v in self.options.get(option, default).split(",")]


def all_cases() -> list[Case]:
    """The cases of every golden file, by rule and name."""
    return [read(path) for path in sorted(FOLDER.glob("*/*.sql"))]


def read(path: Path) -> Case:
    """The case of a file; raises ValueError where a section is missing."""
    text = path.read_text()
    head, *rest = _HEADINGS.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    if "setup" not in sections or "statement" not in sections:
        raise ValueError(f"{path} has no setup, or no statement")
    first = re.search(r"^-- (plan|refused)", text, re.MULTILINE)
    end = first.start() if first else len(text)
    statement = _statement(sections["statement"])
    oracle = _statement(sections["oracle"]) if "oracle" in sections else statement
    return Case(
        path,
        dict(_OPTION.findall(head)),
        tuple(_setup(sections["setup"])),
        statement,
        oracle,
        text[:end].rstrip() + "\n",
        text[end:],
    )


def spelled(statement: str, marked: Marked) -> str:
    """A statement with its marks as an engine spells them."""
    return _MARKED.sub(lambda found: marked(found[1], found[2], found[3]), statement)


def _statement(text: str) -> str:
    return text.strip().rstrip(";")


def _setup(text: str) -> list[str | Mark]:
    found: list[str | Mark] = []
    for place, part in enumerate(_MARK.split(text)):
        if place % 2:
            found.append(Mark(part))
        else:
            found += [s.strip() for s in part.split(";\n") if s.strip()]
    return found
