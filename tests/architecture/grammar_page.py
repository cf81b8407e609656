"""docs/grammar.md, made from examples. `make docs` writes it, a test compares it.

Each example is read and rewritten for every store, so the page says what parser and rules do.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gateway.shell.syntax import FORMS
from journal.model.errors import PalimpsestError
from journal.model.plan import Query
from journal.model.schema import CatalogSnapshot
from rewriter.context import PlanForm
from rewriter.limits import DEFAULT_LIMITS
from rewriter.own.undrop import Undrop
from rewriter.rewriter import rewrite_statement
from rewriter.statement import Prepare, SessionStatement, Statement
from rewriter.syntax.parsing import parse
from tests.architecture.grammar_examples import EXAMPLES, TABLES, Example
from tests.rewriter.fuzz.corpus import source_of
from tests.rewriter.fuzz.verdict import context_of
from tests.rewriter.golden.plans import STORES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "grammar.md"
HEAD = """# Grammar

The forms of statements, with examples, and what each store makes of them: *taken*, or refused with
the error of that code. This page is made by `make docs` from what parser and rules do; a test
compares it. [SQL](sql.md) says what statements mean, and has those that read and write files.

The examples speak of these tables:

<!-- not run: the examples behind it are rewritten over these tables by a test of their own -->
```sql
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """An example and what each store makes of it."""

    example: Example
    statements: tuple[Statement, ...]
    outcomes: tuple[str, ...]


def shown(example: Example) -> Shown:
    """The example, read and rewritten for every store; raises what has no code."""
    try:
        parsed = parse(example.text, example.dialect, DEFAULT_LIMITS)
    except PalimpsestError as error:
        return Shown(example, (), tuple(_linked(error) for _ in STORES))
    statements = tuple(p.statement for p in parsed)
    return Shown(example, statements, tuple(_outcome(statements[0], example, n) for n in STORES))


def _outcome(statement: Statement, example: Example, store_name: str) -> str:
    if isinstance(statement, Prepare):
        statement = statement.statement
    if isinstance(statement, SessionStatement):
        return "taken"
    store = STORES[store_name]
    catalog = _catalog()
    (table, *_) = catalog.tables()
    if isinstance(statement, Undrop):
        catalog = catalog.without_relation(table.name)
    try:
        context = context_of(example.dialect, catalog, PlanForm.FULL, store)
        context = replace(context, dropped=lambda name: table)
        plan = rewrite_statement(statement, context)
        for step in plan.steps:
            query = getattr(step, "query", None)
            if isinstance(query, Query):
                store.text(query.ast)
    except PalimpsestError as error:
        return _linked(error)
    return "taken"


@cache
def _catalog() -> CatalogSnapshot:
    return source_of("grammar", "duckdb", list(TABLES)).catalog


def _linked(error: PalimpsestError) -> str:
    return f"[{error.code.value.code}](errors.md)"


def page() -> str:
    """The whole page."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    parts = [HEAD + ";\n".join(TABLES) + ";\n```\n"]
    for name, form in FORMS.items():
        parts.append(f"## {name}\n\n```text\n{form}\n```\n")
        parts.append("| example | dialect | embedded | PostgreSQL | Hive |\n|---|---|---|---|---|")
        for example in EXAMPLES[name]:
            cells = (f"`{_escaped(example.text)}`", example.dialect, *shown(example).outcomes)
            parts.append(f"| {' | '.join(cells)} |")
        parts[-1] += "\n"
    return "\n".join(parts)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
