"""Statements that change what is known of tables: ALTER, RENAME, EXCHANGE and sp_rename.

Some of them no parser takes; those are read by their tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from rewriter.lineage.scope import fold
from rewriter.lineage.sources import WHOLE, ColumnSource
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import ColumnTarget
from rewriter.lineage.words import Words

_FIRST, _AFTER = "FIRST", "AFTER"


def alter_table(node: exp.Alter, tables: KnownTables) -> list[ColumnTarget]:
    """Follow an ALTER TABLE that adds, drops, moves or renames columns, or renames the table.

    SWAP WITH gives each of two tables the rows of the other.
    """
    made: list[ColumnTarget] = []
    if not isinstance(node.this, exp.Table):
        return made
    name = tables.name(node.this)
    options = node.args.get("options") or []
    for action in node.args.get("actions") or []:
        match action:
            case exp.AlterRename(this=exp.Table() as old) if options:
                # ``RENAME a TO b``: a column, since the table would have one name only.
                tables.rename_column(name, fold(old), fold(options[0].this))
            case exp.AlterRename(this=exp.Table() as target):
                db = target if target.db else exp.table_(target.name, db=node.this.db or None)
                tables.rename(name, tables.name(db))
            case exp.SwapTable(this=exp.Table() as other):
                made += _swapped(name, tables.name(other), tables)
            case exp.ColumnDef():
                tables.add_columns(name, [fold(action)])
                _place(name, action, tables)
            case exp.Schema():
                tables.add_columns(name, [fold(column) for column in action.expressions])
            case exp.ReplaceColumns():
                given = [fold(column) for column in action.expressions]
                tables.declare(name, given, tables.partitions.get(name, ()))
            case exp.RenameColumn():
                tables.rename_column(name, fold(action.this), fold(action.args["to"]))
            case exp.AlterColumn() if action.args.get("rename_to") is not None:
                tables.rename_column(name, fold(action.this), fold(action.args["rename_to"]))
            case exp.ModifyColumn():
                if action.args.get("rename_from") is not None:
                    old_name = fold(action.args["rename_from"])
                    tables.rename_column(name, old_name, fold(action.this))
                _place(name, action.this, tables)
            case exp.Drop(kind="COLUMN"):
                dropped = action.args.get("tables") or [action.this]
                tables.drop_columns(name, [fold(column) for column in dropped])
    return made


def _swapped(one: str, other: str, tables: KnownTables) -> list[ColumnTarget]:
    """Two tables take the rows and the columns of one another."""
    made = []
    for name, before in ((one, other), (other, one)):
        for column in tables.columns.get(before, (WHOLE,)):
            made.append(ColumnTarget(name, column, (ColumnSource(before, column),)))
    tables.swap(one, other)
    return made


def _place(name: str, column: exp.Expr, tables: KnownTables) -> None:
    """Move a column to where its definition says that it stands."""
    position = column.args.get("position")
    if isinstance(position, exp.ColumnPosition):
        after = None if position.this is None else fold(position.this)
        tables.move_column(name, fold(column), after)


def change_by_tokens(part: Sequence[Token], tables: KnownTables) -> tuple[ColumnTarget, ...] | None:
    """Follow a change that no parser takes; None if the statement is another.

    ``ALTER TABLE t CHANGE | ALTER [COLUMN] a [b type ..] [FIRST | AFTER c]``,
    ``RENAME TABLE a TO b, ..``, ``EXCHANGE TABLES a AND b``, ``[EXEC] sp_rename 'a', 'b' [,
    'COLUMN']``.
    """
    words = Words(list(part))
    if words.takes("ALTER", "TABLE"):
        return () if _change_column(words, tables) else None
    if words.takes("RENAME", "TABLE"):
        return () if _rename_tables(words, tables) else None
    if words.takes("EXCHANGE", "TABLES"):
        one = words.table(tables)
        if not words.takes("AND"):
            return None
        return tuple(_swapped(one, words.table(tables), tables))
    _ = words.takes("EXEC") or words.takes("EXECUTE")
    is_rename = words.takes("SP_RENAME") and _sp_rename(words, tables)
    return () if is_rename else None


def _change_column(words: Words, tables: KnownTables) -> bool:
    name = words.table(tables)
    is_change = words.takes("CHANGE")
    if not is_change and not words.takes("ALTER"):
        return False
    words.takes("COLUMN")
    column = words.word()
    if is_change:
        new = words.word()
        tables.rename_column(name, column, new)
        column = new
    rest = [token.text for token in words.rest]
    upper = [text.upper() for text in rest]
    if upper[-1:] == [_FIRST]:
        tables.move_column(name, column, None)
    elif upper[-2:-1] == [_AFTER]:
        tables.move_column(name, column, fold(rest[-1]))
    else:
        return is_change
    return True


def _rename_tables(words: Words, tables: KnownTables) -> bool:
    while True:
        old = words.table(tables)
        if not words.takes("TO"):
            return False
        tables.rename(old, words.table(tables, old.rpartition(".")[0]))
        if not words.takes(","):
            return True


def _sp_rename(words: Words, tables: KnownTables) -> bool:
    given = [token.text for token in words.rest if token.text not in {",", "@", "=", "N"}]
    if len(given) not in (2, 3):
        return False
    old, new = (fold(name).replace("[", "").replace("]", "") for name in given[:2])
    owner, _, last = old.rpartition(".")
    if given[2:] and given[2].upper() == "COLUMN":
        tables.rename_column(tables.whole_name(owner.split(".")), last, new)
    elif not given[2:] or given[2].upper() == "OBJECT":
        # The new name has no schema of its own.
        whole = tables.whole_name(old.split("."))
        schema = whole.rpartition(".")[0]
        tables.rename(whole, f"{schema}.{new}" if schema else new)
    return True
