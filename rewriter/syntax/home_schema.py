"""``public`` in PostgreSQL's dialect and ``main`` in DuckDB's: the home schema, whatever its name.

Tools and dumps write ``public.t`` without asking what the default schema is called, and look for
their tables there. Where the store has a schema of that name, that one is meant. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, fold
from journal.model.trees import copy_tree, with_changed_trees
from rewriter.functions import SEQUENCE_FUNCTIONS
from rewriter.statement import SetSetting, Statement
from rewriter.statements.access import AlterDefaultPrivileges

_OF_NAMES = SEQUENCE_FUNCTIONS | {"pg_get_serial_sequence"}
_SCHEMAS = frozenset({"SCHEMA", "ALL TABLES", "ALL SEQUENCES"})


def in_home_schema(statement: Statement, name: str, catalog: CatalogSnapshot) -> Statement:
    """The statement with the home schema where it says ``name``; the same if it does not.

    CREATE SCHEMA makes a schema of that name while the home schema has nothing in it that
    the new one would hide; with IF NOT EXISTS the home schema will do.
    """
    home = catalog.home
    ast = getattr(statement, "ast", None)
    if isinstance(ast, exp.Create) and ast.kind == "SCHEMA":
        if not ast.args.get("exists") and _is_empty(home, catalog):
            return statement
    kind = str(getattr(statement, "kind", "")).upper()
    of_schemas = kind in _SCHEMAS or isinstance(statement, SetSetting | AlterDefaultPrivileges)
    meant = _Meant(name, home, of_schemas)
    named = with_changed_trees(statement, partial(_in_home, meant=meant))
    moved: Any = named
    if fold(getattr(moved, "new_schema", None) or "") == name:
        return replace(moved, new_schema=home)  # type: ignore[no-any-return]
    return named


def _is_empty(home: str, catalog: CatalogSnapshot) -> bool:
    schema = fold(home)
    named = (*catalog.relations, *catalog.sequences)
    defined = (where for _, where, _ in catalog.definitions)
    return all(where != schema for where, _ in named) and schema not in defined


@dataclass(frozen=True, slots=True)
class _Meant:
    """A name and the home schema that it means; whether what looks like a table is a schema."""

    name: str
    home: str
    of_schemas: bool

    def prefixes(self) -> tuple[str, str]:
        """How names of the schema begin in a text, bare and in quotes."""
        return f"{self.name}.", f'"{self.name}".'


def _in_home(tree: exp.Expr, meant: _Meant) -> exp.Expr:
    """A tree with other names in it; the same if it has none of them."""
    if not any(_named(node, meant) for node in tree.walk()):
        return tree
    copied = copy_tree(tree)
    for node in list(copied.walk()):
        part = _named(node, meant)
        if isinstance(part, exp.DataType):
            part.set("kind", f"{meant.home}.{part.args['kind'][len(meant.name) + 1 :]}")
        elif isinstance(part, exp.Literal):
            prefix = next(p for p in meant.prefixes() if part.name.lower().startswith(p))
            part.set("this", f"{meant.home}.{part.name[len(prefix) :]}")
        elif part is not None:
            part.set("this", meant.home)
    return copied


def _named(node: exp.Expr, meant: _Meant) -> exp.Expr | None:
    """The part of a node that names the schema."""
    part: object = None
    if isinstance(node, exp.Table | exp.Column):
        part = node.args.get("db")
        if part is None and meant.of_schemas and isinstance(node, exp.Table):
            part = node.this
    elif isinstance(node, exp.DataType):
        kind = node.args.get("kind")
        if isinstance(kind, str) and fold(kind).startswith(f"{meant.name}."):
            return node
        part = kind.this if isinstance(kind, exp.Dot) else None
    elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        part = node.this
    elif isinstance(node, exp.Comment) and str(node.args.get("kind")).upper() == "SCHEMA":
        return _named(node.this, replace(meant, of_schemas=True))
    elif isinstance(node, exp.Anonymous) and node.name.lower() in _OF_NAMES:
        name = node.expressions[0] if node.expressions else None
        name = name.this if isinstance(name, exp.Cast) else name
        is_said = isinstance(name, exp.Literal) and name.name.lower().startswith(meant.prefixes())
        return name if is_said else None
    return part if isinstance(part, exp.Identifier) and fold(part.name) == meant.name else None
