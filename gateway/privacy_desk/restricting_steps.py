"""Restriction and rectification, one request at a time.

A restricted person's rows are hidden as those of an accepted erasure are, and stay: no purge takes
them. Lifting shows them again. Rectifying is an UPDATE of the rows that name the person now; the
wrong value stays in earlier versions, and whoever wants it out of these is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gateway.privacy_desk import composite, sealing
from gateway.privacy_desk.batch_steps import identities_in, subjects_in, take_step
from gateway.privacy_desk.desk import Desk, find_request
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.states import PrivacyState
from gateway.privacy_desk.submission import REPLACED, request_error
from gateway.procedures.erasing import names_of
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, single_operation
from journal.erasure import erasure_spec
from journal.erasure.erasure_spec import ErasureSpec
from journal.erasure.requests import State
from journal.identity.descriptor import descriptor_of
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest
from journal.sql.relations import ident
from rewriter.syntax.parsing import parse

if TYPE_CHECKING:
    from gateway.session.session import Session

_MARK = "privacy restriction"


def restrict(desk: Desk, batch: PrivacyBatch, state: PrivacyState) -> PrivacyBatch:
    """Take a restriction through one step; it is COMPLETED when nobody sees the rows any more."""
    return take_step(desk, batch, state, lambda: {"erasures": _hidden(desk, batch)})


def _hidden(desk: Desk, batch: PrivacyBatch) -> list[str]:
    requests, named = identities_in(desk, batch)
    only = names_of(desk.session, list(requests[0].detail.get("options", {}).get("tables", ())))
    subjects = subjects_in(named)
    specs = [ErasureSpec(subjects=subjects, tables=only)] if subjects else []
    specs += composite.specs(desk.session, named, only)
    known = {r.reason: r for r in erasure_spec.requests(desk.journal)}
    ids = []
    for number, wanted in enumerate(specs, 1):
        mark = f"{_MARK} {batch.id}.{number}"
        found = known.get(mark)
        if found is None:
            spec = replace(wanted, reason=mark, restricts=True)
            found = erasure_of(desk.session).accept(spec, desk.by)
        ids.append(found.id)
    return ids


@single_operation
def lift(
    session: Session, _advance: Advance, names: Sequence[str], reason: str | None
) -> list[PrivacyRequest]:
    """Show the rows of restrictions again; one that is not in force stays as it is."""
    desk, results = Desk(session), []
    for name in names:
        with desk.reading() as records:
            request = find_request(records, name)
            batches = {b.id: b for b in rows_of.all_batches(records)}
        if request.action != PrivacyAction.RESTRICTION:
            raise request_error(
                f"request {request.id} asks for {request.action}, and restricts nobody",
                "name a request of a restriction",
            )
        if request.state != PrivacyState.COMPLETED or "lifted_by" in request.detail:
            results.append(request)
            continue
        program = erasure_of(session)
        for erasure in erasure_spec.requests(desk.journal):
            if erasure.id in batches[request.batch].detail["erasures"]:
                if erasure.state is State.RESTRICTED:
                    program.cancel(erasure, desk.by)
        with desk.writing() as records:
            now = desk.now()
            detail = {**request.detail, "lifted_by": desk.by, "lifted_at": now.isoformat()}
            lifted = replace(request, detail=detail, updated_at=now)
            rows_of.put_request(records, lifted)
            desk.note(records, "lift", request.id, {"reason": reason} if reason else {})
            records.commit()
        results.append(lifted)
    return results


def rectify(desk: Desk, batch: PrivacyBatch, state: PrivacyState) -> PrivacyBatch:
    """Take a rectification through one step."""
    return take_step(desk, batch, state, lambda: {"rows_changed": _corrected(desk, batch)})


def _corrected(desk: Desk, batch: PrivacyBatch) -> int:
    """Write the right values into the current rows that name the person; how many rows."""
    (request,), named = identities_in(desk, batch)
    pairs = named[request.id]
    (name,) = request.detail["options"]["tables"]
    (table,) = find_tables(desk.session, name)
    values = [(k.removeprefix(REPLACED), v) for k, v in pairs if k.startswith(REPLACED)]
    who = [(k, v) for k, v in pairs if not k.startswith(REPLACED)]
    parameters: dict[str, str] = {}
    sets = []
    for column, value in values:
        held = table.find(column)
        if held is None:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f"{table.name} has no column {column}",
                advice="submit the rectification with a column of the table",
            )
        parameter = f"v{len(parameters)}"
        parameters[parameter] = value
        shown = exp.cast(exp.Placeholder(this=parameter), held.type, dialect="duckdb")
        sets.append(exp.EQ(this=exp.column(ident(held.name)), expression=shown))
    condition, named_values = _condition(table, who)
    target = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    statement = exp.Update(this=target, expressions=sets).where(condition)
    text = f"{statement.sql('duckdb')} -- built"
    (parsed,) = parse(text, "duckdb", desk.session.settings.limits)
    outcome = desk.session.run(parsed, {**parameters, **named_values})
    return int(max(0, outcome.row_count))


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
            f"{table.name} does not identify people so",
            "name a type of its erasure descriptor, and not one in a list",
        )
    return exp.or_(*conditions), parameters
