"""The views everybody reads in Hive: current views, journals, and the clients' own views.

A view names the segments that were committed when it was made, so what is not committed is never
seen; it is replaced, in one DDL, soon after each commit. A thread does that, so that nobody waits
for it, and one gateway at a time. What has a name already and is not ours is never replaced.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.schema import DEFAULT_SCHEMA, CatalogSnapshot, TableName, View
from journal.model.segment import Tier
from journal.records.schema import SHOWN
from journal.sql.public_views import (
    create_schema,
    create_view,
    drop_schema,
    drop_view,
    present_query,
)
from journal.sql.relations import Reader, business_outputs, ident
from journal.sql.substitution import in_terms_of
from journal.stores.hive import layout
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from journal.stores.hive.dialect.apache_nested import as_shown
from journal.stores.hive.dialect.current_views import ease_reading
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.leases import Leases
from journal.stores.hive.store import HiveConnection, HiveStore
from journal.stores.hive.tiers import SeenTiers
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

_LEASE = "views"
_SCHEMA = "schema"
_VIEW = "view"


class PublicViews:
    """Keeps the metastore's views like what is committed; ``look`` tells what is."""

    def __init__(
        self, store: HiveStore, catalog: CatalogDatabase, names: layout.Names, leases: Leases
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._names = names
        self._leases = leases
        self._wanted: JournalState | None = None
        self._made: JournalState | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._work = threading.Lock()

    def request(self, state: JournalState) -> None:
        """Have the views made for a state, or a later one, soon."""
        with self._lock:
            if self._wanted is None or self._wanted.version <= state.version:
                self._wanted = state
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                state, self._wanted = self._wanted, None
                if state is None:
                    self._thread = None
                    return
            try:
                with failures():
                    self.refresh(state)
            except PalimpsestError:
                # The next commit, the next flush or the next gateway does it.
                continue

    def finish(self) -> None:
        """Wait for what was requested."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def refresh(self, state: JournalState) -> None:
        """Make the views say what is committed in ``state``; raises what the server says."""
        with self._work:
            before = self._made
            if before is not None and (before is state or before.version > state.version):
                return
            with self._leases.holding([_LEASE]), self._store.connection() as connection:
                with self._catalog.reading() as reading:
                    shown = rows_of.load_shown(reading)
                wanted = dict(self._texts(state))
                for key, text in wanted.items():
                    if shown.get(key) != _sum(text) and self._run_one(connection, text):
                        self._note(key, _sum(text))
                gone = [key for key in reversed(list(shown)) if key not in wanted]
                for key in sorted(gone, key=lambda k: k.startswith(_SCHEMA)):
                    if self._run_one(connection, self._dropped(key)):
                        self._note(key, None)
            self._made = state

    def put(self, connection: HiveConnection, name: TableName, body: exp.Expr) -> None:
        """Put a view under a free name of everybody's, until what is committed makes another."""
        key, text = self._view(name, body)
        self._note(key, _sum(text))
        connection.execute(text)

    def forget(self, connection: HiveConnection, name: TableName) -> None:
        """Take away what ``put`` has put there."""
        key, _ = self._view(name, exp.select("1"))
        connection.execute(self._dropped(key))
        self._note(key, None)

    def _note(self, key: str, stands_for: str | None) -> None:
        with self._catalog.writing(SHOWN) as connection:
            rows_of.put_shown(connection, key, stands_for)

    def _run_one(self, connection: HiveConnection, text: str) -> bool:
        """True if a statement did what it should; one view that fails leaves the others alone."""
        try:
            connection.execute(text)
        except PalimpsestError as error:
            if error.code in {Code.STORE_LOST, Code.STORE_UNREACHABLE}:
                raise
            return False
        return True

    def _texts(self, state: JournalState) -> Iterator[tuple[str, str]]:
        """What makes each schema and view, those that others read first."""
        catalog = state.catalog
        tiers = SeenTiers(self._names, state, Transaction(state))
        for key, schema in catalog.schemas.items():
            if key != DEFAULT_SCHEMA or self._names.prefix:
                database = self._names.schema(schema)
                yield f"{_SCHEMA}:{database}", self._store.text(create_schema(database))
        for table in catalog.tables():
            if table.id not in state.tables:
                continue
            # Rows in the catalog are newer than all segments; others see them after a flush.
            reader = Reader(table, state.tables[table.id].tiers - {Tier.HEAD})
            current = reader.current(business_outputs(table.columns))
            if self._store.engine is HiveEngine.SPARK:
                ease_reading(current, tiers)
            for name, body in ((table.name, current), (table.journal_name, reader.journal())):
                rows = in_terms_of(body, tiers.in_spark)
                yield self._view(name, as_shown(rows, table, self._store.engine))
        for view in catalog.views():
            query = present_query(view)
            if query is not None:
                for node in list(query.find_all(exp.Table)):
                    if node.db:
                        found = self._names.public_relation(TableName(node.db, node.name))
                        node.set("this", found.this)
                        node.set("db", found.args["db"])
                try:
                    yield self._view(view.name, query, view)
                except PalimpsestError:
                    # Spark cannot say it, so only the gateway answers this view.
                    continue

    def _view(self, name: TableName, body: exp.Expr, view: View | None = None) -> tuple[str, str]:
        key = f"{_VIEW}:{self._names.schema(name.schema)}.{layout.plain_name(name.name)}"
        columns = () if view is None else view.columns
        return key, self._store.text(create_view(self._names.public_relation(name), body, columns))

    def _dropped(self, key: str) -> str:
        kind, _, name = key.partition(":")
        if kind == _SCHEMA:
            return self._store.text(drop_schema(name))
        schema, _, bare = name.partition(".")
        return self._store.text(drop_view(exp.table_(ident(bare), db=ident(schema))))

    def check_free(
        self, connection: HiveConnection, before: CatalogSnapshot, after: CatalogSnapshot
    ) -> None:
        """Raise DUPLICATE_TABLE if a new name is that of a relation of somebody else's."""
        new = [r.name for key, r in after.relations.items() if key not in before.relations]
        if not new:
            return
        with self._catalog.reading() as reading:
            ours = set(rows_of.load_shown(reading))
        for name in new:
            schema, bare = self._names.schema(name.schema), layout.plain_name(name.name)
            if f"{_VIEW}:{schema}.{bare}" in ours or name.key[0] not in before.schemas:
                continue
            if connection.has_relation(schema, bare):
                raise PalimpsestError(
                    Code.DUPLICATE_TABLE,
                    f"the metastore has a relation {schema}.{bare} that is not the gateway's",
                    advice="choose another name",
                )


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
