"""Kinds of stores by the schemes of their URLs: ours, and those of installed packages.

A package adds a kind of store by an entry point in group ``palimpsest.stores``: its name is the
scheme, and it leads to a ``StoreScheme``. Modules are imported when the first such URL is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from gateway.network.urls import is_server_url
from gateway.packages import entry_points
from journal.model.lazy_dataclass import dataclass
from journal.model.places import shown_place

if TYPE_CHECKING:
    from journal.local_engine.scratch import Scratch
    from journal.transactions.protocol import OpenJournal, Upkeep
    from spark_compaction.maintenance import Maintenance

GROUP = "palimpsest.stores"
EMBEDDED = "palimpsest"
PREFIX = "palimpsest+"


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """A store's open journals, and what they need besides statements.

    ``temporary`` is the folder that goes when they are closed.
    """

    journal: OpenJournal
    upkeep: Upkeep
    temporary: Scratch | None = None


@dataclass(frozen=True, slots=True)
class StoreScheme:
    """A kind of store; functions are named ``package.module:function``.

    - ``opener``: from a URL to an ``OpenedStore``.
    - ``maintenance``: from the open journal to a ``Maintenance``; imported with its first use.
    - ``key``: from a URL to what all URLs of that store share, None if it is shared with nobody.
      Left out, each URL is a store.
    - ``folder``: from a URL to the folder that one process at a time has open, and shares with
      others; None where the store has none.
    - ``naming_options``: the options of a URL that tell the store from others at its server.
    """

    opener: str
    maintenance: str
    key: str | None = None
    folder: str | None = None
    naming_options: tuple[str, ...] = ()

    def open(self, url: str) -> OpenedStore:
        """Open the store of a URL, which is made where there is none."""
        opened: OpenedStore = _function(self.opener)(url)
        return opened

    def maintained(self, journal: OpenJournal) -> Maintenance:
        """What maintains the journals of an open store."""
        found: Maintenance = _function(self.maintenance)(journal)
        return found

    def folder_of(self, url: str) -> Path | None:
        """The folder that one process at a time has open; made if it is not there."""
        return None if self.folder is None else _function(self.folder)(url)

    def recorded_name(self, url: str) -> str:
        """A URL as records name the store: without logins, with what tells it from others."""
        options = dict(parse_qsl(url.partition("?")[2]))
        named = [f"{n}={shown_place(options[n])}" for n in self.naming_options if n in options]
        return shown_place(url) + ("?" if named else "") + "&".join(named)

    def key_of(self, url: str) -> str | None:
        """What the URLs of one store have in common."""
        return url if self.key is None else _function(self.key)(url)


_DATABASE = StoreScheme(
    "gateway.opening.databases:open_database",
    "spark_compaction.backends.postgres.programs:maintenance",
)
SCHEMES = {
    EMBEDDED: StoreScheme(
        "gateway.opening.folders:open_folder",
        "spark_compaction.backends.embedded.programs:maintenance",
        "gateway.opening.folder_urls:key",
        "gateway.opening.folder_urls:shared_folder",
    ),
    "palimpsest+postgresql": _DATABASE,
    "palimpsest+postgres": _DATABASE,
    "palimpsest+hive": StoreScheme(
        "gateway.opening.hive_servers:open_hive",
        "spark_compaction.backends.hive.programs:maintenance",
        naming_options=("prefix", "catalog"),
    ),
}


def scheme_of(url: str) -> StoreScheme:
    """The kind of store of a URL; that of folders for a URL of no kind, which it refuses."""
    name = url.partition("://")[0]
    found = SCHEMES.get(name)
    if found is None:
        entry = next((entry for entry in entry_points(GROUP) if entry.name == name), None)
        found = SCHEMES[EMBEDDED] if entry is None else entry.load()
    return found


def is_database(url: str) -> bool:
    """True for a URL that names no folder with an embedded warehouse."""
    return is_server_url(url) or scheme_of(url) is not SCHEMES[EMBEDDED]


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
