"""CALL system.<procedure>(..) and ERASE FROM: maintenance that a client requests, reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.access.procedures import check_call
from gateway.activity.activity import Activity, SessionActivity
from gateway.governance.safe_mode import change_safe_mode, current_safe_mode
from gateway.jobs.arguments import Arguments, argument_error
from gateway.jobs.calls import call_job
from gateway.jobs.kind_names import kind_names
from gateway.procedures import holds
from gateway.procedures.erasing import erase_rows
from gateway.procedures.procedures import bind_arguments, named_tables
from gateway.procedures.sessions import cancel_session, terminate_session
from gateway.session.operations import no_progress
from gateway.session.outcome import StatementOutcome
from journal.erasure.reject_files import drop_rejects, find_rejects
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import Call, Erase
from rewriter.syntax.parsing import Parsed
from spark_compaction.maintenance import required

if TYPE_CHECKING:
    from gateway.session.session import Session


def run_maintenance(
    session: Session, parsed: Parsed, request: Call | Erase, parameters: Mapping[str, Any]
) -> StatementOutcome:
    """Run a procedure or an erasure; raises what either refuses, READ_ONLY and PRIVILEGE."""
    if session.settings.is_read_only:
        session.new_transaction().check_writable("maintenance")
    check_call(request, session.settings, session.catalog)
    if isinstance(request, Erase):
        return erase_rows(session, parsed, request, parameters)
    return call_procedure(session, request, parameters)


def call_procedure(session: Session, call: Call, parameters: Mapping[str, Any]) -> StatementOutcome:
    """Run a procedure; raises UNKNOWN_FUNCTION for others than those of this module."""
    name = call.procedure.lower()
    procedure = PROCEDURES.get(name)
    given: dict[str, Any] = {}
    for key, node in call.arguments:
        if key in given:
            raise argument_error(f"the argument {key} was given twice", "give it once")
        given[key] = _value(key, node, parameters)
    if procedure is not None:
        return procedure(session, given)
    schema, _, kind = name.rpartition(".")
    if schema == "system" and kind in DESK_PROCEDURES:
        return _call_desk(session, kind, given)
    if schema != "system" or kind not in kind_names():
        known = [
            *PROCEDURES,
            *(f"system.{p}" for p in DESK_PROCEDURES),
            *(f"system.{k}" for k in kind_names()),
        ]
        close = get_close_matches(name, known, cutoff=0.75)
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"there is no procedure {call.procedure}",
            advice=f"did you mean {' or '.join(close)}?"
            if close
            else "the procedures are " + ", ".join(known),
        )
    return call_job(session, kind, given)


def _value(name: str, node: exp.Expr, parameters: Mapping[str, Any]) -> Any:
    """A constant; nothing is computed, so that no part of an expression is taken for the whole."""
    match node:
        case exp.Placeholder():
            return parameters[node.name]
        case exp.Literal(is_string=False):
            return int(node.name) if node.name.isdigit() else float(node.name)
        case exp.Literal():
            return node.name
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return -_value(name, number, parameters)
        case exp.Where():
            return node.this
        case exp.Boolean() | exp.Null():
            return node.this if isinstance(node, exp.Boolean) else None
        case exp.Column():
            return ".".join(part.name for part in node.parts)
        case exp.Cast(this=exp.Literal() as text) if node.is_type(*exp.DataType.TEMPORAL_TYPES):
            return text.name
        case exp.Interval(this=exp.Literal() as count, unit=exp.Var() as unit):
            return f"{count.name} {unit.name}"
    shown = name if not name.isdigit() else f"argument {int(name) + 1}"
    raise argument_error(
        f"{shown} cannot be {node.sql(dialect='duckdb')}", "write a constant, or give a parameter"
    )


def _flush(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    given = bind_arguments("system.flush", arguments, ("table",))
    rows: dict[str, list[Any]] = {"table": [], "rows": [], "bytes": [], "segment": []}
    for table in named_tables(session, given):
        session.cancellation.check()
        for segment in session.executor.upkeep.seal(table.id):
            rows["table"].append(str(table.name))
            rows["rows"].append(segment.counts.total)
            rows["bytes"].append(segment.known_bytes)
            rows["segment"].append(segment.id)
    types = [("table", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
    schema = pa.schema([*types, ("segment", pa.string())])
    return session.executor.table_outcome("CALL", pa.table(rows, schema=schema))


def _create_index(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """Propose or make the indexes that adopted journals lack."""
    given = bind_arguments("system.create_index", arguments, ("table", "dry_run"))
    make = not Arguments(given).flag("dry_run")
    index = session.executor.maintenance.index
    index = required(index, "journals that need an index", session.journal.place)
    found = [(str(t.name), index(t, make)) for t in named_tables(session, given)]
    shown = [(name, *proposal) for name, proposal in found if proposal is not None]
    names = ("table", "state", "statement")
    columns = {n: [row[i] for row in shown] for i, n in enumerate(names)}
    schema = pa.schema([(n, pa.string()) for n in names])
    return session.executor.table_outcome("CALL", pa.table(columns, schema=schema))


def _drop_rejects(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """Remove a reject file; one that is ``gone`` is only forgotten."""
    given = bind_arguments("system.drop_rejects", arguments, ("file", "gone"))
    found = find_rejects(session.journal, str(given.get("file")))
    drop_rejects(session.journal, found, is_gone=Arguments(given).flag("gone"))
    rows = {"file": [found.id], "path": [found.path]}
    schema = pa.schema([(name, pa.string()) for name in rows])
    return session.executor.table_outcome("CALL", pa.table(rows, schema=schema))


def _safe_mode(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
    """``CALL system.safe_mode(on => true, reason => '..')``; without ``on`` it shows what is."""
    given = bind_arguments("system.safe_mode", arguments, ("on", "reason"))
    if "on" not in given:
        found = current_safe_mode(session, no_progress)
    else:
        reason = str(given.get("reason") or "")
        found = change_safe_mode(session, is_on=Arguments(given).flag("on"), reason=reason)
    rows = {
        "is_on": [found is not None and found.is_on],
        "changed_at": [None if found is None else found.changed_at],
        "user": [None if found is None else found.user_name],
        "reason": [None if found is None else found.reason],
    }
    schema = pa.schema(
        [
            ("is_on", pa.bool_()),
            ("changed_at", pa.timestamp("us", "UTC")),
            ("user", pa.string()),
            ("reason", pa.string()),
        ]
    )
    return session.executor.table_outcome("CALL", pa.table(rows, schema=schema))


def _on_session(
    name: str, act: Callable[[Activity, SessionActivity, object], str]
) -> Callable[[Session, Mapping[str, Any]], StatementOutcome]:
    """A procedure on another session, which reports what it did."""

    def procedure(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
        number = bind_arguments(name, arguments, ("id",)).get("id")
        done = act(session.executor.activity, session.activity, number)
        schema = pa.schema([("id", pa.int64()), ("state", pa.string())])
        rows = pa.table({"id": [number], "state": [done]}, schema=schema)
        return session.executor.table_outcome("CALL", rows)

    return procedure


def _procedure_at(place: str) -> Callable[[Session, Mapping[str, Any]], StatementOutcome]:
    """A procedure by ``package.module:name``, whose module is loaded when it is called first."""
    module, _, name = place.partition(":")

    def procedure(session: Session, arguments: Mapping[str, Any]) -> StatementOutcome:
        found: StatementOutcome = getattr(import_module(module), name)(session, arguments)
        return found

    return procedure


def _call_desk(session: Session, name: str, given: Mapping[str, Any]) -> StatementOutcome:
    """Run a procedure of the privacy desk, which is loaded when it is asked for."""
    desk = import_module("gateway.privacy_desk.procedures")
    outcome: StatementOutcome = desk.call_desk(session, name, given)
    return outcome


DESK_PROCEDURES = tuple(
    f"privacy_{word}"
    for word in "submit verify approve deny hold release cancel lift run policy".split()
)
Procedure = Callable[["Session", Mapping[str, Any]], StatementOutcome]
PROCEDURES: dict[str, Procedure] = {
    "system.cancel": _on_session("system.cancel", cancel_session),
    "system.create_index": _create_index,
    "system.drop_rejects": _drop_rejects,
    "system.flush": _flush,
    "system.hold": holds.place_hold,
    "system.promote": _procedure_at("gateway.procedures.replicas:call_promote"),
    "system.demote": _procedure_at("gateway.procedures.replicas:call_demote"),
    "system.release": holds.release_hold,
    "system.safe_mode": _safe_mode,
    "system.terminate": _on_session("system.terminate", terminate_session),
}
