"""Masks in a database: tables of keys whose rows nobody may see, which the views leave out.

Written here, and taken off manifests again. Who is hidden, and until when, is decided above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from journal.database.journal import DatabaseJournal
from journal.erasure.matching import shown_keys
from journal.relations import ident
from journal.schema import Table
from journal.state import TableState
from journal.stores.postgres import jobs, layout
from journal.stores.postgres.store import PostgresSession

_FOUND = "keys_found"


def hidden(
    session: PostgresSession, table: Table, state: TableState, keys: pa.Table, mask: str
) -> TableState:
    """Write a mask of some keys; the state that hides their rows."""
    _write_mask(session, table, keys, mask)
    masked = state.manifest.with_mask(mask)
    masked = replace(masked, epoch=masked.epoch + 1)
    # Who began before may have read them, and may write what it read anywhere.
    jobs.replaced(session, table.id, masked.epoch, erased=True)
    return replace(state, manifest=masked)


def _write_mask(session: PostgresSession, table: Table, keys: pa.Table, mask: str) -> None:
    """Keep keys as a table of the types that they have now."""
    shown = f"{_FOUND}_{table.id}"
    session.show_arrow(shown, keys)
    body = shown_keys(table, shown)
    session.run(exp.Create(this=layout.mask_table(mask), kind="TABLE", expression=body))
    names = ", ".join(ident(n.casefold()).sql(dialect="postgres") for n in table.key)
    target = session.rendered(layout.mask_table(mask)).sql
    session.text(f"CREATE INDEX ON {target} ({names})")
    session.text(f"ANALYZE {target}")


def unmasked(
    journal: DatabaseJournal, session: PostgresSession, state: TableState, masks: Iterable[str]
) -> TableState:
    """A state without some masks, whose tables go as soon as nobody reads them."""
    table_id, masks = state.layouts[-1].id, list(masks)
    now = journal.clock.now()
    for mask in masks:
        retired = jobs.Retired(mask, table_id, state.manifest.epoch, now, now)
        jobs.retire(session, retired, "", "purge", 0)
    bare = state.manifest.without_masks(masks)
    return replace(state, manifest=replace(bare, epoch=state.manifest.epoch + 1))
