"""Copies elsewhere, looked at one by one as they lie there: for a search, and for a purge.

Who is in a copy only is found when a request is accepted. A copy that cannot be reached is left out
and named: a search of it waits, and a purge goes on with the others. How rows are looked for is the
store's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from journal.erasure.erasure_spec import ErasureSpec, TargetTable
from journal.erasure.requests import Target
from journal.erasure.unreachable_copies import MOVED, OUT_OF_REACH, Unsearched, receipts
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.records.backups import Backup
from spark_compaction.contract import silent
from spark_compaction.programs import copies
from spark_compaction.programs.backup_transport import BackupTransport

NOT_LOOKED_AT = "backups were not searched: the condition reads more than the table's rows"
"""What a receipt says of a condition that cannot be looked at in what is kept."""
_TRIES_MAX = 3


def look_there(backup: Backup, action: Callable[[Backup], None]) -> None:
    """Look at a copy as it lies there; again if a job has meanwhile replaced files of it.

    One that is being written right now is none yet: its rows are live, or kept in the store.
    """
    there = copies.there(backup)
    for attempt in range(_TRIES_MAX):
        if there is None:
            return
        try:
            action(there)
            return
        except PalimpsestError as error:
            before, there = there, copies.there(backup)
            if there == before or attempt + 1 == _TRIES_MAX or error.code not in MOVED:
                raise


@dataclass(slots=True)
class Copied:
    """What was found in copies of a table's backups, and how much of them was read, or skipped.

    ``left`` are those that could not be searched.
    """

    keys: list[pa.Table] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    files_skipped: int = 0
    bytes_skipped: int = 0
    warns: str = ""
    left: list[Unsearched] = field(default_factory=list)

    def read(self, more: Copied) -> None:
        """Count what was found in more of them."""
        self.keys += more.keys
        self.files, self.bytes = self.files + more.files, self.bytes + more.bytes
        self.files_skipped += more.files_skipped
        self.bytes_skipped += more.bytes_skipped
        self.warns, self.left = self.warns or more.warns, self.left + more.left

    def told(self, target: Target) -> Target:
        """A receipt that tells of them."""
        return replace(
            target,
            why=target.why or self.warns,
            copies_searched=self.files,
            copies_skipped=self.files_skipped,
            bytes_searched=target.bytes_searched + self.bytes,
            bytes_skipped=target.bytes_skipped + self.bytes_skipped,
        )

    def unsearched(self, table: Table) -> list[Target]:
        """The receipts of copies that could not be searched."""
        return receipts(table, self.left)


Look = Callable[[Backup], list[pa.Table]]
"""Finds keys in a copy whose pieces are here."""


def looking(
    aim: TargetTable,
    wanted: ErasureSpec,
    pieces: Callable[[Backup], tuple[Segment, ...]],
    match: Callable[[tuple[Segment, ...]], list[pa.Table]],
) -> Look:
    """How a copy is looked at: by the request's condition if it has one, else by identifiers.

    ``pieces`` are those of a copy as they lie here, in which ``match`` finds identifiers.
    """

    def look(here: Backup) -> list[pa.Table]:
        if not wanted.rows:
            return match(pieces(here))
        find = wanted.among.get(aim.table.id)
        return [] if find is None else [find(pieces(here))]

    return look


def keys_in_copies(transport: BackupTransport, table: Table, look: Look, *, tidies: bool) -> Copied:
    """The keys that ``look`` finds in copies, each of which is brought to the server for it."""
    found = Copied()
    for backup in copies.known(transport.journal, table.id):
        try:
            found.read(keys_in_copy(transport, table, backup, look, tidies=tidies))
        except PalimpsestError as error:
            if error.code not in OUT_OF_REACH:
                raise
            found.left.append(Unsearched(backup, error))
    return found


def keys_in_copy(
    transport: BackupTransport, table: Table, backup: Backup, look: Look, *, tidies: bool
) -> Copied:
    """The same in one copy; raises FILE_ACCESS and others where it cannot be searched."""
    found = Copied()

    def action(there: Backup) -> None:
        with copies.brought(transport, there, silent) as here:
            found.keys += [keys for keys in look(here) if keys.num_rows]
        found.files += len(there.paths)
        found.bytes += there.bytes

    if tidies:
        _tidy(transport, table, backup)
    look_there(backup, action)
    return found


def _tidy(transport: BackupTransport, table: Table, backup: Backup) -> None:
    """Finish or undo what was killed, unless a job is at it just now."""
    try:
        with transport.lock():
            copies.tidy(transport.journal, backup)
    except PalimpsestError as error:
        if error.code is not Code.JOB_BUSY:
            raise


@dataclass(frozen=True, slots=True)
class Removed:
    """Files of copies that were written anew, and row versions that went."""

    files: int = 0
    versions: int = 0

    def told(self, target: Target) -> Target:
        """A receipt that tells of them."""
        return replace(
            target,
            copies_rewritten=target.copies_rewritten + self.files,
            copies_removed=target.copies_removed + self.versions,
        )


@dataclass(slots=True)
class Away:
    """What a purge has removed from copies, by mask; ``error`` says why it is not all."""

    removed: dict[str, Removed]
    error: PalimpsestError | None = None

    def count(self, files: int, versions: Mapping[str, int]) -> None:
        """Add what was removed from one copy."""
        for mask, count in versions.items():
            before = self.removed[mask]
            if count:
                self.removed[mask] = Removed(before.files + files, before.versions + count)


def purge_each(
    transport: BackupTransport,
    table: Table,
    masks: Iterable[str],
    purge: Callable[[Backup, list[str]], tuple[int, Mapping[str, int]]],
) -> Away:
    """Remove the keys of some masks from every copy of a table's backups that can be reached.

    ``purge`` writes the files of one copy anew: how many, and the rows that went. Raises JOB_BUSY
    while another job works on copies of the table.
    """
    away = Away(dict.fromkeys(masks, Removed()))
    found = copies.known(transport.journal, table.id)
    if not found:
        return away
    with transport.lock():
        for backup in found:
            try:
                if copies.tidy(transport.journal, backup):
                    away.count(*purge(backup, list(away.removed)))
                    copies.tidy(transport.journal, backup)
            except PalimpsestError as error:
                if error.code not in OUT_OF_REACH:
                    raise
                away.error = away.error or error
    return away
