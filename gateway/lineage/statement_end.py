"""A statement that has ended, as listeners of lineage get it. A value."""

from __future__ import annotations

from collections.abc import Callable

from gateway.lineage.changed_datasets import ChangedDataset
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import CommittedLineage
from journal.model.schema import CatalogSnapshot
from journal.model.version import Version
from journal.transactions.transaction_rows import Author


@dataclass(frozen=True, slots=True)
class StatementEnd:
    """A statement that writes and is committed, or has failed with an ``error``.

    ``version`` is that of its rows, and so when it began; None where it had none yet. ``ended_s``
    is in seconds since the epoch. Names of nodes are those of ``catalog``. ``changed`` are tables
    and views that were created, dropped or the like.
    """

    found: CommittedLineage
    catalog: CatalogSnapshot
    by: Author
    ended_s: float
    version: Version | None = None
    error: PalimpsestError | None = None
    changed: tuple[ChangedDataset, ...] = ()


LineageListener = Callable[[StatementEnd], None]
"""Is told of statements by the thread that ran them, so it must return at once."""
