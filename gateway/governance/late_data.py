"""Late data: when to look at the inputs of an instance again, and what to run then. Pure.

    ran --delay--> look --delay--> look .. cut-off --delay--> look a last time
                     | changed: run again, or the late handler     | changed: an event, no more

The cut-off of an input is ``late_arrival`` after its last instance: that of the dataset, else that
of the table's policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gateway.governance.entity import Entity
from gateway.governance.process_rules import LateRule, RepeatPolicy, delayed
from journal.model.duration import Duration
from journal.model.policy import Policy


def cut_off(dataset: Entity, policy: Policy | None) -> Duration | None:
    """How late data of a dataset may come; None where nobody says.

    ``policy`` is the one that counts for its table, whoever states it.
    """
    declared = dataset.fields.get("late_arrival")
    if declared is not None:
        return Duration.parse(declared)
    return None if policy is None else policy.late_arrival


def next_look(
    rule: LateRule, cut_offs: Mapping[str, datetime], checks: int, now: datetime
) -> datetime | None:
    """When to look at inputs after so many looks; None after the last one.

    ``cut_offs`` are those of the inputs that are looked at. The first look after the latest of them
    is the last.
    """
    last = max(cut_offs.values(), default=None)
    if last is None or now > last:
        return None
    if rule.policy is RepeatPolicy.FINAL:
        return last if checks == 0 and now < last else rule.delay.after(last)
    found = delayed(now, rule.delay, rule.policy, checks)
    # Nothing that comes up to the cut-off is missed, and what comes behind it is told.
    return min(found, last) if now < last else rule.delay.after(last)
