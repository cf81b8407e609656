"""An attempt that a look of the scheduler has begun, and what it needs to run. Values."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from gateway.governance.entity import Entity
from gateway.governance.process_inputs import DataSpan
from journal.model.lazy_dataclass import dataclass
from journal.records.instance_rows import AttemptRow, InstanceRow


@dataclass(frozen=True, slots=True)
class StartedInstance:
    """An instance that is RUNNING for us, and what it needs to run.

    ``tables`` are those that it reads in this store, by dataset with the table's id; ``late`` are
    the datasets whose late data it runs for; ``check_at`` is when it looks for late data first.
    ``read_there`` are tables of the store of its profile, and ``versions`` those that tables of
    other stores had at the look, by dataset. ``was_unsettled``: an attempt before it may have
    committed there.
    """

    row: InstanceRow
    attempt: AttemptRow
    process: Entity
    inputs: tuple[DataSpan, ...]
    outputs: tuple[DataSpan, ...]
    tables: dict[str, int]
    late: tuple[str, ...] = ()
    check_at: datetime | None = None
    read_there: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    was_unsettled: bool = False
