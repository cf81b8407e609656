"""What a policy expires at a given time, and how reports word it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from journal.erasure.holds import active, conditions, whole_table
from journal.erasure.seam import SecretJournal
from journal.model.effective_policy import effective_policy
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.version import Version, from_datetime
from journal.sql.relations import column
from journal.transactions.expiry import ENDED, Expiry, RowsUnderHold
from journal.transactions.orphaned_rows import describe_counts
from spark_compaction.contract import JobPlan

WHY = "{} of its rows are past their time"
"""Why a segment is taken; says how many of its rows go."""
NO_ROW = "nothing past its time"


def expiry(
    journal: SecretJournal, table: Table, now: datetime, nothing: JobPlan
) -> Expiry | JobPlan:
    """What is past its time by the policy and the holds of a table; else ``nothing``, and why.

    Which rows may be judged, ``settled`` and ``oldest``, is said by whoever reads them.
    """
    policy, holds = effective_policy(journal.state.catalog, table), active(journal, table)
    if not policy.removes:
        return replace(nothing, why="no policy removes anything")
    if (whole := whole_table(holds)) is not None:
        return replace(nothing, why=f"under {whole.description()}", details={"held": whole.id})
    return Expiry(table, policy, now, 0, conditions(journal, table, holds))


def floor_of(found: Expiry, ask: Callable[[exp.Select], list[Any]]) -> Version:
    """The end of the latest version that goes, before which the past cannot be told.

    ``ask`` gives the rows of a query; ENDED and HELD are at hand.
    """
    if not found.looks_at_history:
        return 0
    latest: exp.Expr = exp.Max(this=column(found.table.format.subsequent_column, "r"))
    query = exp.select(exp.alias_(latest, "latest"))
    query = query.from_(exp.alias_(exp.to_table(ENDED), "r", table=True))
    ((last,),) = ask(query.where(found.unheld("r")))
    return 0 if last is None else last if isinstance(last, int) else from_datetime(last)


def why(kept: RowsUnderHold, gone: int, left: Mapping[str, int]) -> str:
    """How many rows go, how many stay because of whom, and which refer to what goes."""
    said = kept.description(gone)
    return f"{said}; {describe_counts(left)}" if left else said


def details(
    found: Expiry,
    floor: Version,
    archived: int,
    kept: RowsUnderHold,
    gone: RowCounts,
    left: Mapping[str, int],
) -> dict[str, Any]:
    """What plans and reports say besides, on every store."""
    said = found.details(floor, archived) | kept.details | {"rows": asdict(gone)}
    return said | ({"dangling": dict(left)} if left else {})
