"""What a statement with IF EXISTS or IF NOT EXISTS says where it has nothing to do. Pure.

The words are PostgreSQL's: migrations and their logs are read for them.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.schema import fold
from rewriter.definitions.alteration import Alteration


def none_to_drop(kind: str, name: str) -> str:
    """There is no object of that kind and name.

    >>> none_to_drop("TABLE", "t")
    'table "t" does not exist, skipping'
    """
    return f'{kind.lower()} "{name}" does not exist, skipping'


def made_before(kind: str, name: str) -> str:
    """There is an object of that kind and name already.

    >>> made_before("schema", "s")
    'schema "s" already exists, skipping'
    """
    return f'{kind.lower()} "{name}" already exists, skipping'


def skipped_in_table(change: Alteration, action: exp.Expr) -> list[str]:
    """What an action of ALTER TABLE says that a table needs no more."""
    of = f'of relation "{change.table.name.name}"'
    match action:
        case exp.Schema():
            return [text for node in action.expressions for text in skipped_in_table(change, node)]
        case exp.ColumnDef() if action.args.get("exists") and change.has_column(action.name):
            return [f'column "{action.name}" {of} already exists, skipping']
        case exp.Drop() if action.args.get("exists"):
            kind = str(action.args["kind"])
            constraints = {fold(c.name) for c in change.draft.constraints}
            key = change.draft.key_name or f"{change.table.name.name}_pkey"
            constraints |= {fold(key)} if change.draft.key else set()
            return [
                f'{kind.lower()} "{node.name}" {of} does not exist, skipping'
                for node in action.args["tables"]
                if (kind == "COLUMN" and not change.has_column(node.name))
                or (kind == "CONSTRAINT" and fold(node.name) not in constraints)
            ]
        case _:
            return []
