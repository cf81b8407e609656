"""Definitions of indexes and constraints as PostgreSQL writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from journal.model.foreign_key import ForeignKey
from journal.model.schema import Table, TableName
from journal.model.table_index import Index, IndexTerm
from rewriter.reading.postgres.quoting import RESERVED

BTREE = 403
ACCESS_METHODS = {"hash": 405, "gist": 783, "gin": 2742, "spgist": 4000, "brin": 3580}
"""The numbers of PostgreSQL's methods that are no btree, as CREATE INDEX .. USING names them."""
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def quote_name(name: str) -> str:
    """A name, in quotes where it needs them, as a reserved word does."""
    is_plain = _PLAIN.fullmatch(name) and name not in RESERVED
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def key_definition(columns: Sequence[str], *, primary: bool) -> str:
    """``PRIMARY KEY (a, b)``."""
    return f"{'PRIMARY KEY' if primary else 'UNIQUE'} ({_names(columns)})"


def check_definition(expression: str) -> str:
    """``CHECK ((a > 0))`` of ``(a > 0)``."""
    return f"CHECK ({expression})"


def foreign_key_definition(key: ForeignKey, table: Table, parent: Table) -> str:
    """``FOREIGN KEY (a) REFERENCES p(b) ON DELETE CASCADE``."""
    ours = {c.physical: c.name for c in table.columns}
    theirs = {c.physical: c.name for c in parent.columns}
    columns = _names([ours[c] for c in key.columns])
    parents = _names([theirs[c] for c in key.parent_columns])
    key_text = f"FOREIGN KEY ({columns}) REFERENCES {quote_name(parent.name.name)}({parents})"
    return " ".join([key_text, *key.options])


def function_definition(
    name: TableName, arguments: str, result: str, language: str, body: str
) -> str:
    """``CREATE OR REPLACE FUNCTION public.f(a integer) ..``, as ``pg_get_functiondef`` gives it."""
    called, mark = f"{quote_name(name.schema)}.{quote_name(name.name)}", "$function$"
    return (
        f"CREATE OR REPLACE FUNCTION {called}({arguments})\n"
        f" RETURNS {result}\n LANGUAGE {language}\nAS {mark}{body}{mark}\n"
    )


def ordered_term(shown: str, term: IndexTerm) -> str:
    """A term of an index with its order, ``a DESC NULLS LAST``, where it is not the usual one."""
    shown = f"({shown})" if shown.startswith("(") else shown
    if term.descending:
        return f"{shown} DESC" if term.nulls_first else f"{shown} DESC NULLS LAST"
    return f"{shown} NULLS FIRST" if term.nulls_first else shown


def index_definition(
    table: TableName,
    index: Index,
    terms: Sequence[str],
    predicate: str | None = None,
    included: Sequence[str] = (),
) -> str:
    """``CREATE UNIQUE INDEX i ON public.t USING btree (a DESC, lower(b))``; terms are SQL."""
    carried = f" INCLUDE ({_names(included)})" if included else ""
    where = f" WHERE {predicate}" if predicate else ""
    method = index.method if index.method in ACCESS_METHODS else "btree"
    return (
        f"CREATE {'UNIQUE ' if index.unique else ''}INDEX {quote_name(index.name)} ON"
        f" {quote_name(table.schema)}.{quote_name(table.name)} USING {method}"
        f" ({', '.join(terms)}){carried}{where}"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(quote_name, columns))
