"""The package of a replica: everything about one table at one version, as a value.

    source --package--> target      as JSON, between processes
       `------files------^          only those that the target lacks

The package names files and holds none. Of a source whose pieces are no files, each piece is listed
as one, by a name that is the same at both sides, and becomes a file if the target lacks it. It
carries definitions, so that the past of the replica has them, and what must never come back:
suppressions and legal holds. It holds the secrets that these are hashed with, so it is written to
no log and no record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from journal.model.catalog import change_from_json, change_to_json
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PutRelation
from journal.model.policy import PREFIX
from journal.model.replication import REPLICA_OF
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.model.version import Version
from spark_compaction.contract import Progress, Workers, silent

_REPLICATION = f"{PREFIX}replication"
Definitions = tuple[tuple[Version, Table], ...]


@dataclass(frozen=True, slots=True)
class ReplicaPackage:
    """One table of a store, as of ``version``; ``read_version`` is when it was read.

    - ``store``, ``kind``: the id of the source, and the kind of store whose pieces are its pieces.
    - ``root``: the folder that paths of files are relative to.
    - ``files``: where a piece or a mask lies below ``root``, if it does not go by its path there.
    - ``definitions``: every definition the table ever had, the oldest first.
    - ``masks``: lists of keys that nobody may see; ``floor``: as in its manifest.
    - ``counters``: the next generated number by column.
    - ``transactions``: rows of commits that wrote the table after the version that the target has.
    - ``suppressions``, ``holds``: rows of the records that concern the table.
    - ``secret``: what they are hashed with; ``kept_secrets``: of other stores, those that the kinds
      of suppressions and holds name.
    """

    store: str
    root: str
    place: str
    version: Version
    read_version: Version
    definitions: Definitions
    segments: tuple[Segment, ...]
    masks: tuple[str, ...]
    floor: Version
    counters: tuple[tuple[str, int], ...]
    transactions: tuple[tuple[Any, ...], ...]
    suppressions: tuple[tuple[Any, ...], ...]
    holds: tuple[tuple[Any, ...], ...]
    secret: str = field(repr=False)
    kept_secrets: tuple[str, ...] = field(repr=False, default=())
    ledger: str = ""
    """The hash of the newest entry of the source's audit log; empty where there is none."""
    kind: str = "warehouse"
    files: tuple[tuple[str, SegmentFile], ...] = ()

    @property
    def table(self) -> Table:
        """The table as it is defined now."""
        return self.definitions[-1][1]

    def path_of(self, name: str) -> str:
        """The full path of a file that is listed under a name."""
        file = dict(self.files).get(name)
        return str(Path(self.root) / (name if file is None else file.path))

    def to_json(self) -> str:
        """The package as text; ``from_json`` reads it back."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        return json.dumps(
            {
                **plain,
                "definitions": [[v, change_to_json(PutRelation(t))] for v, t in self.definitions],
                "segments": [s.to_json() for s in self.segments],
                "transactions": [_plain_row(r) for r in self.transactions],
                "suppressions": self.suppressions,
                "holds": [_plain_row(r) for r in self.holds],
                "files": [[name, asdict(file)] for name, file in self.files],
            }
        )

    @staticmethod
    def from_json(text: str) -> ReplicaPackage:
        """The package that ``to_json`` wrote."""
        found = json.loads(text)
        plain = {name: found[name] for name in _PLAIN}
        plain |= {name: tuple(found[name]) for name in ("masks", "kept_secrets")}
        plain |= {"counters": tuple((n, v) for n, v in found["counters"])}
        return ReplicaPackage(
            **plain,
            definitions=tuple((v, _table(c)) for v, c in found["definitions"]),
            segments=tuple(Segment.from_json(s) for s in found["segments"]),
            transactions=tuple(map(_native_row, found["transactions"])),
            suppressions=tuple(map(tuple, found["suppressions"])),
            holds=tuple(map(_native_row, found["holds"])),
            files=tuple((name, SegmentFile(**file)) for name, file in found["files"]),
        )


_PLAIN = (
    "store root place version read_version masks floor counters secret kept_secrets ledger kind"
).split()


@dataclass(frozen=True, slots=True)
class Reception:
    """How a target takes a package: by whom, in which run, with which workers.

    ``parallel`` files are copied at once, ``bandwidth`` bytes a second together. A dry run changes
    nothing.
    """

    by: str
    job_id: str
    workers: Workers
    progress: Progress = silent
    parallel: int = 4
    bandwidth: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaResult:
    """What a target did with a package.

    ``is_clean``: nothing that the package lacks is left there, in any file. ``bytes`` and ``files``
    were copied, of ``rows`` rows; ``reused`` files were there already.
    """

    table_id: int
    store: str
    changed: bool
    is_clean: bool
    files: int = 0
    rows: int = 0
    bytes: int = 0
    reused: int = 0
    suppressed: int = 0
    made: bool = False
    notes: tuple[str, ...] = ()


def tail(path: str) -> str:
    """What names a file in both stores: its folder and its own name."""
    return "/".join(PurePosixPath(path).parts[-2:])


def definition_there(table: Table, store: str, table_id: int, parents: Mapping[int, int]) -> Table:
    """A definition of the source as the target has it; ``parents`` are ids there by ids here.

    Foreign keys to tables that are not replicated are left out: the target could not check them.
    The policy of replication stays with the source.
    """
    kept = tuple(
        (n, v) for n, v in table.properties if n != REPLICA_OF and not n.startswith(_REPLICATION)
    )
    keys = tuple(
        replace(k, parent=parents[k.parent]) for k in table.foreign_keys if k.parent in parents
    )
    return replace(
        table,
        id=table_id,
        properties=((*kept, (REPLICA_OF, store))),
        foreign_keys=keys,
    )


def _table(change: dict[str, Any]) -> Table:
    found = change_from_json(change)
    assert isinstance(found, PutRelation)
    assert isinstance(found.relation, Table)
    return found.relation


def _plain_row(row: Iterable[Any]) -> list[Any]:
    return [{"at": v.isoformat()} if isinstance(v, datetime) else v for v in row]


def _native_row(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(
        datetime.fromisoformat(v["at"]).astimezone(UTC) if isinstance(v, dict) else v for v in row
    )
