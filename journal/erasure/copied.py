"""Copies elsewhere, looked at one by one as they lie there: for a search, and for a purge.

Who is in a copy only is found when a request is accepted, so a copy that cannot be reached makes
the request fail before anything is written. How rows are looked for is the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from journal.erasure.requests import Target
from journal.errors import Code, PalimpsestError
from journal.jobs import carried, copies
from journal.jobs.backups import Backup
from journal.jobs.carried import Carrier
from journal.jobs.contract import silent
from journal.schema import Table

NOT_LOOKED_AT = "backups were not searched: the condition reads more than the table's rows"
"""What a receipt says of a condition that cannot be looked at in what is kept."""
_TRIES_MAX = 3
MOVED = {Code.FILE_ACCESS, Code.SEGMENT_DAMAGED}
"""What reading a copy ends with when its files are replaced meanwhile, among other causes."""


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
    """What was found in copies of a table's backups, and how many of their files were read."""

    keys: list[pa.Table] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    warns: str = ""

    def read(self, more: Copied) -> None:
        """Count what was found in more of them."""
        self.keys += more.keys
        self.files, self.bytes = self.files + more.files, self.bytes + more.bytes
        self.warns = self.warns or more.warns

    def told(self, target: Target) -> Target:
        """A receipt that tells of them."""
        return replace(
            target,
            why=target.why or self.warns,
            copies_searched=self.files,
            bytes_searched=target.bytes_searched + self.bytes,
        )


def keys_in_copies(
    carrier: Carrier, table: Table, look: Callable[[Backup], list[pa.Table]], *, tidies: bool
) -> Copied:
    """The keys that ``look`` finds in copies, each of which is brought to the server for it."""
    found = Copied()

    def action(backup: Backup) -> None:
        with carried.brought(carrier, backup, table, silent) as here:
            found.keys += [keys for keys in look(here) if keys.num_rows]
        found.files += len(backup.paths)
        found.bytes += backup.bytes

    for backup in carried.known(carrier.journal, table.id):
        if tidies:
            _tidy(carrier, table, backup)
        look_there(backup, action)
    return found


def _tidy(carrier: Carrier, table: Table, backup: Backup) -> None:
    """Finish or undo what was killed, unless a job is at it just now."""
    try:
        with carrier.turn(table):
            copies.tidy(carrier.journal, backup)
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
        return replace(target, copies_rewritten=self.files, copies_removed=self.versions)


def purge_each(
    carrier: Carrier,
    table: Table,
    masks: Iterable[str],
    purge: Callable[[Backup, list[str]], tuple[int, Mapping[str, int]]],
) -> dict[str, Removed]:
    """Remove the keys of some masks from every copy of a table's backups; what went, by mask.

    ``purge`` writes the files of one copy anew: how many, and the rows that went. Raises JOB_BUSY
    while another job works on copies of the table.
    """
    removed = dict.fromkeys(masks, Removed())
    if not carried.known(carrier.journal, table.id):
        return removed
    with carrier.turn(table):
        for backup in carried.whole(carrier.journal, table.id):
            files, versions = purge(backup, list(removed))
            copies.tidy(carrier.journal, backup)
            for mask, count in versions.items():
                before = removed[mask]
                if count:
                    removed[mask] = Removed(before.files + files, before.versions + count)
    return removed
