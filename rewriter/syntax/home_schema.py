"""``public`` in PostgreSQL's dialect: the home schema of a store that has no schema of that name.

Tools and dumps write ``public.t`` without asking what the default schema is called, and look for
their tables there. Where somebody has made a schema ``public``, that one is meant. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from journal.model.schema import CatalogSnapshot, fold
from journal.model.trees import copy_tree, with_changed_trees
from rewriter.functions import SEQUENCE_FUNCTIONS
from rewriter.name_resolution import PUBLIC_SCHEMA
from rewriter.statement import SetSetting, Statement
from rewriter.statements.access import AlterDefaultPrivileges

_OF_NAMES = SEQUENCE_FUNCTIONS | {"pg_get_serial_sequence"}
_PREFIXES = (f"{PUBLIC_SCHEMA}.", f'"{PUBLIC_SCHEMA}".')
_SCHEMAS = frozenset({"SCHEMA", "ALL TABLES", "ALL SEQUENCES"})


def in_home_schema(statement: Statement, catalog: CatalogSnapshot) -> Statement:
    """The statement with the home schema where it says ``public``; the same if it does not.

    CREATE SCHEMA public makes a schema of that name while the home schema has nothing in it that
    the new one would hide; with IF NOT EXISTS the home schema will do.
    """
    home = catalog.home
    ast = getattr(statement, "ast", None)
    if isinstance(ast, exp.Create) and ast.kind == "SCHEMA":
        if not ast.args.get("exists") and _is_empty(home, catalog):
            return statement
    kind = str(getattr(statement, "kind", "")).upper()
    of_schemas = kind in _SCHEMAS or isinstance(statement, SetSetting | AlterDefaultPrivileges)
    named = with_changed_trees(statement, partial(_in_home, home=home, of_schemas=of_schemas))
    moved: Any = named
    if fold(getattr(moved, "new_schema", None) or "") == PUBLIC_SCHEMA:
        return replace(moved, new_schema=home)  # type: ignore[no-any-return]
    return named


def _is_empty(home: str, catalog: CatalogSnapshot) -> bool:
    schema = fold(home)
    named = (*catalog.relations, *catalog.sequences)
    defined = (where for _, where, _ in catalog.definitions)
    return all(where != schema for where, _ in named) and schema not in defined


def _in_home(tree: exp.Expr, home: str, *, of_schemas: bool) -> exp.Expr:
    """A tree with other names in it; the same if it has none of them."""
    if not any(_place(node, None, of_schemas) for node in tree.walk()):
        return tree
    copied = copy_tree(tree)
    for node in list(copied.walk()):
        _place(node, home, of_schemas)
    return copied


def _place(node: exp.Expr, home: str | None, of_schemas: bool) -> bool:
    """True if a node names the schema, which is ``home`` from then on if that is given."""
    if isinstance(node, exp.Table | exp.Column):
        part = node.args.get("db")
        if part is None and of_schemas and isinstance(node, exp.Table):
            part = node.this
        if not isinstance(part, exp.Identifier) or fold(part.name) != PUBLIC_SCHEMA:
            return False
        if home is not None:
            part.set("this", home)
        return True
    if isinstance(node, exp.DataType):
        kind = node.args.get("kind")
        first = kind.this if isinstance(kind, exp.Dot) else None
        if not isinstance(first, exp.Identifier) or fold(first.name) != PUBLIC_SCHEMA:
            return False
        if home is not None:
            first.set("this", home)
        return True
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        part = node.this
        if not isinstance(part, exp.Identifier) or fold(part.name) != PUBLIC_SCHEMA:
            return False
        if home is not None:
            part.set("this", home)
        return True
    if isinstance(node, exp.Comment) and str(node.args.get("kind")).upper() == "SCHEMA":
        return _place(node.this, home, of_schemas=True)
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _OF_NAMES:
        return False
    name = node.expressions[0] if node.expressions else None
    name = name.this if isinstance(name, exp.Cast) else name
    if not isinstance(name, exp.Literal):
        return False
    prefix = next((p for p in _PREFIXES if name.name.lower().startswith(p)), None)
    if prefix is None:
        return False
    if home is not None:
        name.set("this", f"{home}.{name.name[len(prefix) :]}")
    return True
