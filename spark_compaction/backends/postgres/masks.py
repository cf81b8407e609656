"""Masks in a database: tables of keys whose rows nobody may see, which the views leave out.

Written here, and taken off manifests again. Who is hidden, and until when, is decided above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure.matching import shown_keys
from journal.model.schema import Table
from journal.sql.relations import ident
from journal.stores.postgres import jobs, layout
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState

_FOUND = "keys_found"


def write(session: PostgresSession, table: Table, keys: pa.Table, request: str, number: int) -> str:
    """Write keys of a request to a table of their own, which ``number`` tells from others."""
    name = f"t{table.id}_mask_{request}_{number}"
    _write_keys(session, table, keys, name)
    return name


def listed(
    session: PostgresSession, table: Table, state: TableState, mask: str | None, spared: str | None
) -> TableState:
    """The state that hides the rows of a mask, and names the keys that a hold spares."""
    manifest = state.manifest.with_keys(mask, spared)
    manifest = replace(manifest, epoch=state.manifest.epoch + 1)
    # Who began before may have read them, and may write what it read anywhere.
    jobs.replaced(session, table.id, manifest.epoch, erased=True)
    return replace(state, manifest=manifest)


def _write_keys(session: PostgresSession, table: Table, keys: pa.Table, mask: str) -> None:
    """Keep keys as a table of the types that they have now."""
    shown = f"{_FOUND}_{mask}"
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
        retired = jobs.RetiredTable(mask, table_id, state.manifest.epoch, now, now)
        jobs.retire(session, retired, "", "purge", 0)
    bare = state.manifest.without_keys(masks)
    return replace(state, manifest=replace(bare, epoch=state.manifest.epoch + 1))
