"""Which requests share a scan, and into which parts a large scan is split. Pure.

A batch takes the requests that are due first. Its parts are groups of tables, each within the bytes
that the policy lets one scan read; a table that is larger stands alone, and may have several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from gateway.privacy_desk.desk_policy import DeskPolicy, PrivacyAction
from gateway.privacy_desk.states import PrivacyState
from journal.model.duration import Duration
from journal.model.lazy_dataclass import dataclass
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

_ONE_EACH = frozenset({PrivacyAction.RESTRICTION, PrivacyAction.RECTIFICATION})
"""Actions whose requests have a batch each: a restriction is lifted for one person alone."""
_BYTES_OF_TB = 1e12
_WAITING = frozenset(
    {PrivacyState.FAILED, PrivacyState.PARTIAL, PrivacyState.AWAITING_BACKUP_EXPIRY}
)
_LOOKED_AFTER = timedelta(minutes=10)
Name = TypeVar("Name", str, int)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What executing a batch takes: bytes read and written anew, seconds, and money."""

    bytes_read: int
    bytes_written: int
    seconds: float
    price: float
    currency: str

    @staticmethod
    def of(policy: DeskPolicy, bytes_read: int, bytes_written: int) -> Estimate:
        """An estimate at the speed and price of a policy."""
        total = bytes_read + bytes_written
        seconds = total / (policy.scan_mb_per_second * 1e6)
        price = total / _BYTES_OF_TB * policy.price_per_tb
        return Estimate(
            bytes_read, bytes_written, round(seconds, 3), round(price, 6), policy.currency
        )


def form_batches(
    requests: Sequence[PrivacyRequest],
    counts: Mapping[str, int],
    policy: DeskPolicy,
    now: datetime,
    *,
    all_due: bool = True,
) -> list[list[PrivacyRequest]]:
    """Group queued requests that ask the same, those first that are due first.

    ``counts`` says how many identities each names. Unless ``all_due``, a group waits until it is
    full, one of its requests is old enough, or one is due soon.
    """
    groups: dict[tuple[str, str], list[PrivacyRequest]] = {}
    for one in sorted(requests, key=lambda r: (r.due_at, r.received_at, r.id)):
        groups.setdefault((one.action, str(one.detail.get("options"))), []).append(one)
    found = []
    for (action, _), some in groups.items():
        if all_due or _is_due(some, counts, policy, now):
            most = 1 if action in _ONE_EACH else policy.batch_identities
            found += _filled(some, counts, most)
    return found


def is_taken_up(
    batch: PrivacyBatch, policy: DeskPolicy, now: datetime, *, is_released: bool
) -> bool:
    """True if a run that nobody asks for goes on with a batch that an earlier one left.

    One that was killed goes on at once, and so does one whose rows no legal hold covers any more
    (``is_released``). One that failed, or waits for what somebody does elsewhere, is taken up when
    it is as old as requests that make a batch due; one that only has to be completed, soon. Which
    holds cover rows of other stores nobody knows here.
    """
    state = PrivacyState(batch.step)
    is_over_stores = "stores" in batch.detail
    if state is PrivacyState.ON_HOLD and not is_over_stores:
        return is_released
    if state in _WAITING or state is PrivacyState.ON_HOLD:
        return Duration.parse(policy.batch_age).after(batch.updated_at) <= now
    is_waiting = state is PrivacyState.EXECUTING and bool(batch.detail.get("waits_for"))
    return not is_waiting or batch.updated_at + _LOOKED_AFTER <= now


def _is_due(
    some: Iterable[PrivacyRequest], counts: Mapping[str, int], policy: DeskPolicy, now: datetime
) -> bool:
    some, age = list(some), Duration.parse(policy.batch_age)
    is_full = sum(counts.get(r.id, 1) for r in some) >= policy.batch_identities
    is_old = any(age.after(r.received_at) <= now for r in some)
    return is_full or is_old or any(policy.warns_at(r.due_at) <= now for r in some)


def _filled(
    some: Sequence[PrivacyRequest], counts: Mapping[str, int], most: int
) -> list[list[PrivacyRequest]]:
    found: list[list[PrivacyRequest]] = []
    room = 0
    for one in some:
        size = max(1, counts.get(one.id, 1))
        if not found or room < size:
            found.append([])
            room = most
        found[-1].append(one)
        room -= size
    return found


def split_tables(sizes: Mapping[Name, int], most: int) -> list[list[Name]]:
    """Groups of tables, by their size in bytes, of at most so many bytes; 0: all are one group.

    >>> split_tables({"a": 5, "b": 4, "c": 1}, 5)
    [['a'], ['b', 'c']]
    """
    if not most:
        return [sorted(sizes)]
    groups: list[list[Name]] = []
    rooms: list[int] = []
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        place = next((i for i, room in enumerate(rooms) if room >= size), None)
        if place is None:
            groups.append([name])
            rooms.append(max(0, most - size))
        else:
            groups[place].append(name)
            rooms[place] -= size
    return groups
