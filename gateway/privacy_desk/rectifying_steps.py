"""Rectifies rows that name a person: now, and in the past if the request asks for it.

    FINDING     an UPDATE of the current rows; with ``erases_past`` a request of the erasure
                machinery that hides them, to take the values before it out of every earlier version
    EXECUTING   the purge: these columns are NULL in all versions that began before the UPDATE
    VERIFYING   nothing is left to do

The rows are those that name the person now; what they held before is what is wrong. A process that
is killed between the UPDATE and the request updates them once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from gateway.privacy_desk import composite, erasing_steps, sealing
from gateway.privacy_desk.batch_steps import identities_in, move, take_step
from gateway.privacy_desk.desk import Desk
from gateway.privacy_desk.states import PrivacyEvent, PrivacyState
from gateway.privacy_desk.submission import REPLACED, request_error
from gateway.procedures.condition_spec import condition_spec
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance
from journal.erasure import erasure_spec
from journal.erasure.changeable import check_changes
from journal.erasure.column_changes import ColumnChange, ValueChange
from journal.identity.descriptor import descriptor_of
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Column, Table
from journal.model.version import Version, from_datetime
from journal.records.privacy_rows import PrivacyBatch
from journal.sql.relations import ident
from journal.transactions.reading import committed_state
from rewriter.name_resolution import unknown_column
from rewriter.syntax.parsing import parse

_MARK = "privacy rectification"


@dataclass(frozen=True, slots=True)
class Correction:
    """What a rectification writes, into which rows; values are parameters of both."""

    table: Table
    values: Sequence[tuple[Column, str]]
    condition: exp.Expr
    parameters: Mapping[str, str]


def rectify(desk: Desk, batch: PrivacyBatch, state: PrivacyState, advance: Advance) -> PrivacyBatch:
    """Take a rectification through one step."""
    (request,), _ = identities_in(desk, batch)
    if not request.detail["options"].get("erases_past"):
        return take_step(
            desk, batch, state, lambda: {"rows_changed": _write(desk, _correction(desk, batch))}
        )
    match state:
        case PrivacyState.FINDING:
            detail = _hide(desk, batch)
            return move(desk, batch, PrivacyEvent.PLAN, detail, detail)
        case PrivacyState.PLANNED:
            return move(desk, batch, PrivacyEvent.EXECUTE)
        case PrivacyState.EXECUTING:
            return erasing_steps.execute(desk, batch, advance)
        case _:
            return move(desk, batch, PrivacyEvent.COMPLETE)


def past_changes(table: Table, columns: Sequence[str], before: Version) -> list[ColumnChange]:
    """What becomes of columns in versions that began before one; raises where that cannot be."""
    identifies = {e.path.root for e in descriptor_of(table)}
    found = []
    for name in columns:
        held = _column(table, name)
        if held.physical in identifies:
            raise request_error(
                f"{held.name} of {table.name} identifies people, so --erase-past cannot erase its"
                " earlier values",
                "leave out --erase-past; or erase the person, and write the row anew",
            )
        found.append(ColumnChange(held.physical, ValueChange.NULL, before=before))
    return found


def _hide(desk: Desk, batch: PrivacyBatch) -> dict[str, Any]:
    """Write the right values, and hide the rows until the purge; what was hidden before stays."""
    mark = f"{_MARK} {batch.id}"
    known = {r.reason: r for r in erasure_spec.requests(desk.journal)}
    found = known.get(mark)
    if found is not None:
        return {"erasures": [found.id], **batch.detail}
    correction = _correction(desk, batch)
    names = [held.name for held, _ in correction.values]
    state = committed_state(desk.journal)
    check_changes(state, correction.table, past_changes(correction.table, names, 1))
    count = _write(desk, correction)
    since = _first_current_version(desk, correction) if count else None
    if since is None:
        raise request_error(
            f"no row of {correction.table.name} names the person",
            "a rectification changes current rows; an erasure removes earlier versions, too",
        )
    changes = past_changes(correction.table, names, since)
    spec = condition_spec(
        desk.session, correction.table, correction.condition, correction.parameters
    )
    # Rows that name the person in a backup alone may be somebody else's now.
    wanted = replace(
        *(spec,), among={}, again=None, reason=mark, changes={correction.table.id: tuple(changes)}
    )
    accepted = erasure_of(desk.session).accept(wanted, desk.by)
    return {"rows_changed": count, "erasures": [accepted.id]}


def _correction(desk: Desk, batch: PrivacyBatch) -> Correction:
    (request,), named = identities_in(desk, batch)
    pairs = named[request.id]
    (name,) = request.detail["options"]["tables"]
    (table,) = find_tables(desk.session, name)
    values = [
        (_column(table, kind.removeprefix(REPLACED)), value)
        for kind, value in pairs
        if kind.startswith(REPLACED)
    ]
    who = [(kind, value) for kind, value in pairs if not kind.startswith(REPLACED)]
    condition, parameters = _condition(table, who)
    return Correction(table, values, condition, parameters)


def _column(table: Table, name: str) -> Column:
    held = table.find(name)
    if held is None:
        raise unknown_column(name, table, None)
    return held


def _write(desk: Desk, correction: Correction) -> int:
    """Write the right values into the current rows that name the person; how many rows."""
    parameters = dict(correction.parameters)
    sets = []
    for number, (held, value) in enumerate(correction.values):
        parameters[f"v{number}"] = value
        shown = exp.cast(exp.Placeholder(this=f"v{number}"), held.type, dialect="duckdb")
        sets.append(exp.EQ(this=exp.column(ident(held.name)), expression=shown))
    update = exp.Update(this=_target(correction.table), expressions=sets)
    outcome = _run(desk, update.where(correction.condition.copy()), parameters)
    return int(max(0, outcome.row_count))


def _first_current_version(desk: Desk, correction: Correction) -> Version | None:
    """When the first of the current rows began that name the person; None if there is none."""
    start, end = correction.table.ends
    target = _target(correction.table)
    target.set("version", exp.Version(this="SYSTEM_TIME", kind="ALL"))
    query = exp.select(exp.Min(this=exp.column(ident(start)))).from_(target)
    current = exp.Is(this=exp.column(ident(end)), expression=exp.null())
    outcome = _run(desk, query.where(correction.condition.copy(), current), correction.parameters)
    ((found,),) = outcome.rows.take(1)
    outcome.close()
    if found is None:
        return None
    return from_datetime(found) if isinstance(found, datetime) else int(found)


def _target(table: Table) -> exp.Table:
    return exp.Table(this=ident(table.name.name), db=ident(table.name.schema))


def _run(desk: Desk, statement: exp.Expr, parameters: Mapping[str, str]) -> Any:
    text = f"{statement.sql('duckdb')} -- built"
    (parsed,) = parse(text, "duckdb", desk.session.settings.limits)
    return desk.session.run(parsed, dict(parameters))


def _condition(table: Table, who: Sequence[tuple[str, str]]) -> tuple[exp.Expr, dict[str, str]]:
    entries = {e.type: e for e in descriptor_of(table) if not e.path.is_list}
    conditions, parameters = [], dict[str, str]()
    for kind, value in who:
        parts = sealing.parts_of(kind, value)
        if any(part not in entries for part, _ in parts):
            continue
        compared = []
        for part, text in parts:
            name = f"p{len(parameters)}"
            one, parameters[name] = composite.comparison(table, entries[part], text, name)
            compared.append(one)
        conditions.append(exp.and_(*compared))
    if not conditions:
        raise request_error(
            f"{table.name} has no column of its own for this type of identifier",
            "name a type of its erasure descriptor whose column is not a list",
        )
    return exp.or_(*conditions), parameters
