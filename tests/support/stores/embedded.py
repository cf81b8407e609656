"""An embedded warehouse under test: a folder with a DuckDB file and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.procedures import embedded
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.retired_files import reap
from spark_compaction.engines.local import LocalEngine
from tests.support.connections import opening
from tests.support.meanwhile import once_after
from tests.support.relay import Relay
from tests.support.stores.store import Act, Capability, Row, StoreKind
from tests.support.traces import holders


@dataclass
class EmbeddedStore:
    """A warehouse of one test."""

    root: Path
    open_connection: Callable[..., Connection]
    capabilities: frozenset[Capability]
    home: str = "main"

    @property
    def url(self) -> str:
        return f"palimpsest:///{self.root}"

    def connect(self, **options: Any) -> Connection:
        return self.open_connection(**options)

    def drop_retired(self, con: Connection) -> None:
        journal = _journal(con)
        reap(journal, journal.clock.now(), chosen=list)

    def pieces(self, con: Connection) -> set[str]:
        return set(_journal(con).warehouse.files())

    def listed(self, con: Connection) -> set[str]:
        states = _journal(con).state.tables.values()
        return {f.path for t in states for s in t.manifest.segments for f in s.files}

    def connect_watchful(self) -> Connection:
        return self.connect()

    def connect_through(self, relay: Relay, **options: str) -> Connection:
        raise AssertionError("a warehouse has no server")

    @property
    def port(self) -> int:
        raise AssertionError("a warehouse has no server")

    def make_plain(self, name: str, values: str) -> None:
        raise AssertionError("nobody else makes tables in a warehouse")

    def add_row(self, con: Connection, piece: str) -> None:
        path = self.root / piece
        rows = pq.read_table(path)
        more = rows.slice(0, 1).to_pylist()[0] | {"k": 9, "v": "x"}
        pq.write_table(pa.concat_tables([rows, pa.Table.from_pylist([more], rows.schema)]), path)

    def lose(self, con: Connection, piece: str) -> None:
        (self.root / piece).unlink()

    def holders(self, text: str) -> list[str]:
        return holders(self.root, text)

    def during(self, patch: pytest.MonkeyPatch, kind: str, act: Act) -> None:
        once_after(patch, LocalEngine, "map", act)

    @contextmanager
    def killed_release(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        with patch.context() as inner:
            inner.setattr(Journal, "swap_all", _die)
            yield

    def forget_readers(self, patch: pytest.MonkeyPatch) -> None:
        """A warehouse knows all of its readers."""

    def sweep(self, con: Connection) -> None:
        """A warehouse is swept when it is opened."""

    def read_outside(self, sql: str) -> list[Row]:
        raise AssertionError(f"one process opens a warehouse: {sql}")


def _journal(con: Connection) -> Journal:
    return embedded(con.session, "the test")


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _opened(
    _request: pytest.FixtureRequest, folder: Path, options: Mapping[str, str]
) -> Iterator[EmbeddedStore]:
    assert not options
    root = folder / "warehouse"
    with opening(f"palimpsest:///{root}", autocommit=True) as connect:
        yield EmbeddedStore(root, connect, KIND.capabilities)


KIND = StoreKind(
    "embedded",
    frozenset(
        {
            Capability.ACCESS_CONTROL,
            Capability.REPLICAS,
            Capability.ALL_TYPES,
            Capability.BACKUPS,
            Capability.ERASURE,
            Capability.FOREIGN_KEYS,
            Capability.HOLDS_DURING_PURGES,
            Capability.MINOR_COMPACTION,
            Capability.SKIP_LOCKED,
            Capability.TURNS_OF_WRITERS,
            Capability.WRITES_DURING_RETENTION,
        }
    ),
    _opened,
)
