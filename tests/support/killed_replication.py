"""A process that replicates a table, and is killed before or after a step of it."""

from __future__ import annotations

from tests.support.killed_step import Step, run_killed

BOTH_ENDS: dict[str, Step] = {
    "after the keys were kept": ("spark_compaction.programs.replica_records", "share_secrets", 1),
    "before the records": ("spark_compaction.programs.replica_records", "carry_suppressions", 0),
    "after the holds": ("spark_compaction.programs.replica_records", "carry_holds", 1),
    "before the source records it": ("gateway.jobs.replicate", "_finished_row", 0),
    "after the source recorded it": ("gateway.jobs.replicate", "_complete_erasures", 0),
}
_PROGRAM = """
import sys
import gateway
from tests.support.killed_step import die_at
from tests.support.replicated import replicated

source, target, place, name, after = sys.argv[1:]

with gateway.connect(source, autocommit=True) as connection:
    die_at(place, name, after)
    replicated(connection, target)
"""


def replicate_killed(source: str, target: str, step: Step) -> None:
    """Replicate ``hr.people`` between the stores of two URLs in a process that dies at a step."""
    run_killed(_PROGRAM, source, target, *map(str, step))
