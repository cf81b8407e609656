"""Recognises errors that mean a copy is out of reach, and words the report.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from journal.erasure.requests import Outcome, Target
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.records.backups import Backup

MOVED = frozenset({Code.FILE_ACCESS, Code.SEGMENT_DAMAGED})
"""What reading a copy ends with when its files are replaced meanwhile, among other causes."""
OUT_OF_REACH = MOVED | {Code.BACKUP, Code.DRIVER_MISSING}
"""What it ends with when nobody can read it as it is there now."""


@dataclass(frozen=True, slots=True)
class Unsearched:
    """A copy that could not be searched, and why."""

    backup: Backup
    error: PalimpsestError

    @property
    def why(self) -> str:
        """For the receipt."""
        return f"copy {self.backup.name}: {self.error.message}"


def receipts(table: Table, left: Iterable[Unsearched]) -> list[Target]:
    """The receipts of copies that could not be searched."""
    name, outcome = str(table.name), Outcome.NOT_SEARCHED
    return [Target(table.id, name, outcome, c.why, copy=c.backup.name) for c in left]


def out_of_reach(backup: Backup, error: PalimpsestError) -> PalimpsestError:
    """What is said of a copy that a request must still be looked for in."""
    return PalimpsestError(
        error.code,
        f'the copy "{backup.name}" of {backup.table_name} in {backup.place} cannot be searched for'
        f" the people whom requests erase: {error.message}",
        advice="make it reachable and run this again; or give it up for good:"
        f" CALL system.backup('{backup.table_name}', name => '{backup.name}', drop => true)",
    )


def check_searched(left: Iterable[Unsearched]) -> None:
    """Raise ERASURE for a copy that could not be searched: what refers to whom is not known."""
    for one in left:
        raise _unsearched(
            one, "the gateway cannot find what depends on rows in the", "choose REPORT"
        )


def check_need_not_ask_again(left: Iterable[Unsearched]) -> None:
    """Raise ERASURE for a copy that could not be searched for a condition of this moment alone."""
    for one in left:
        why = "the condition, which means something else later, cannot be asked now of the"
        raise _unsearched(one, why, "write values in the place of CURRENT_DATE and its like")


def _unsearched(one: Unsearched, why: str, else_: str) -> PalimpsestError:
    return PalimpsestError(
        Code.ERASURE,
        f"{why} {one.why}",
        advice=f"make the copy reachable, {else_}, or give the copy up for good:"
        f" CALL system.backup('{one.backup.table_name}', name => '{one.backup.name}',"
        " drop => true)",
    )
