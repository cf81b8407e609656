"""What an erasure does in each table: remove rows, change columns, or keep it. Pure.

    hr.people.email    hmac                     rows stay; the column has another value in each
    hr.people.phone    mask 2                   version of them
    hr.invoices        keep tax law, 10 years   not searched; receipts say why
    hr.visits          rows                     rows go; the same people may be written again

All other tables have the rows of people erased. Actions are held against the tables as they are
when they are declared, when a batch is formed, and by the purge; one that cannot be carried out
stops it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gateway.privacy_desk.desk_policy import KEEP, ROWS, desk_policy_error
from journal.erasure.changeable import check_changes, with_dropped
from journal.erasure.column_changes import ColumnChange, parse_change
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.transactions.state import JournalState


@dataclass(frozen=True, slots=True)
class TableActions:
    """By the id of a table what becomes of its columns, and which tables are kept, and why.

    In tables that are ``rows_only`` rows go, and whoever had them may be written again.
    """

    changes: Mapping[int, tuple[ColumnChange, ...]]
    kept: Mapping[int, str]
    rows_only: frozenset[int]


def resolve(state: JournalState, actions: Mapping[str, str]) -> TableActions:
    """Actions for the tables there are.

    Raises PRIVACY_POLICY for a table or column that is not there, and for a table of which columns
    are changed that is kept, or loses rows; PRIVACY_ACTION for a column that cannot be changed so.
    """
    tables = {".".join(map(fold, t.name.key)): t for t in state.catalog.tables()}
    kept: dict[int, str] = {}
    rows_only: set[int] = set()
    changes: dict[int, list[ColumnChange]] = {}
    for name, text in actions.items():
        schema, table_name, *column = name.split(".")
        table = tables.get(f"{schema}.{table_name}")
        if table is None:
            raise _unknown(name, "table", f"{schema}.{table_name}")
        if not column and text == ROWS:
            rows_only.add(table.id)
            continue
        if not column:
            kept[table.id] = text.removeprefix(KEEP).strip()
            continue
        changes.setdefault(table.id, []).append(_change(table, name, column[0], text))
    by_id = {t.id: t for t in tables.values()}
    found: dict[int, tuple[ColumnChange, ...]] = {}
    for table_id, its in changes.items():
        table = by_id[table_id]
        if table_id in kept or table_id in rows_only:
            what = "keep" if table_id in kept else "rows"
            raise desk_policy_error(
                f"actions has {what} for {table.name}, and changes of its columns as well",
                f"remove one: --set actions.{table.name}=erase",
            )
        found[table_id] = with_dropped(state, table, its)
        check_changes(state, table, found[table_id])
    return TableActions(found, kept, frozenset(rows_only))


def _change(table: Table, name: str, column: str, text: str) -> ColumnChange:
    held = table.find(column)
    if held is None:
        raise _unknown(name, "column", column)
    return replace(parse_change(column, text), column=held.physical)


def _unknown(name: str, what: str, missing: str) -> Exception:
    return desk_policy_error(
        f"actions.{name}: there is no {what} {missing}",
        f"use its present name, or remove the action: --set actions.{name}=erase",
    )
