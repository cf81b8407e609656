"""What the contract tests need of a store, besides the connections that users have of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import pytest

from gateway.dbapi.connection import Connection
from tests.support.relay import Relay

Act = Callable[[], object]
Row = tuple[Any, ...]


class Capability(Enum):
    """What a kind of store may lack; the value completes "a store without ..."."""

    ACCESS_CONTROL = "roles and privileges"
    ADOPTION = "tables of others that can be adopted"
    ALL_TYPES = "every type of the gateway"
    BACKUPS = "backups"
    ERASURE = "erasures, and legal holds"
    SERVER = "a server, and connections to it that can be lost"
    FOREIGN_KEYS = "foreign keys"
    HOLDS_DURING_PURGES = "holds that are placed while a purge runs: they wait for its end"
    MINOR_COMPACTION = "minor compaction"
    NODES_OF_PLANS = "plans as trees of nodes"
    OTHER_READERS = "views that other tools read"
    PARTITIONS = "native partitions"
    PROCESSES = "several processes at once"
    REPLICAS = "replicas of its tables in other stores of its kind"
    REMOTE_READERS = "readers that the gateway does not know of"
    SKIP_LOCKED = "SKIP LOCKED"
    TURNS_OF_WRITERS = "commit turns that a statement can hold while it reads"
    WRITES_DURING_RETENTION = "writes while a retention runs: they wait for its end"


class Store(Protocol):
    """A store that one test has to itself."""

    @property
    def url(self) -> str:
        """The gateway's URL of it."""

    @property
    def home(self) -> str:
        """The schema of names without one."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can do."""

    def connect(self, **options: Any) -> Connection:
        """Open a connection, in autocommit unless ``options`` say otherwise; the test closes it."""

    def drop_retired(self, con: Connection) -> None:
        """Drop the pieces that jobs have replaced, as if their grace were over, less backups'."""

    def pieces(self, con: Connection) -> set[str]:
        """Return the names of all files, tables or partitions that hold rows of journals."""

    def listed(self, con: Connection) -> set[str]:
        """Return the names of those that manifests list."""

    def connect_watchful(self) -> Connection:
        """Open a connection that looks with every query for what others have changed."""

    def connect_through(self, relay: Relay, **options: str) -> Connection:
        """Open a connection to the server through a relay to ``port``, with options of the URL."""

    @property
    def port(self) -> int:
        """Where the server listens."""

    def make_plain(self, name: str, values: str) -> None:
        """Make a table (k INTEGER, v TEXT) with rows, as another tool does."""

    def add_row(self, con: Connection, piece: str) -> None:
        """Add a row (9, 'x') to a piece of a table (k INTEGER, v VARCHAR), behind the gateway."""

    def lose(self, con: Connection, piece: str) -> None:
        """Remove a piece, as somebody would who knows nothing of the gateway."""

    def holders(self, text: str) -> list[str]:
        """Return the places of the store in which a text can be read, in any spelling of case."""

    def during(self, patch: pytest.MonkeyPatch, kind: str, act: Act) -> None:
        """Have ``act`` called once, when the next job of a kind has staged its first rows."""

    def killed_release(self, patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
        """Return a block in which the commit of a release of a hold raises KeyboardInterrupt."""

    def forget_readers(self, patch: pytest.MonkeyPatch) -> None:
        """Let jobs take versions that a reader in another process might still need."""

    def sweep(self, con: Connection) -> None:
        """Remove what killed programs left behind, as if it had lain there for long."""

    def read_outside(self, sql: str) -> list[Row]:
        """Return the rows of a query that another tool runs; ``{t}`` is the view of table t."""


@dataclass(frozen=True, slots=True)
class StoreKind:
    """A kind of store: what it can do, and how one is opened for a test.

    ``open`` takes the test's request, its folder and options of the URL.
    """

    name: str
    capabilities: frozenset[Capability]
    open: Callable[[pytest.FixtureRequest, Path, Mapping[str, str]], AbstractContextManager[Store]]
