"""CALL system.<procedure>(..): maintenance a client may ask for, and its report as a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway import holds
from gateway.jobs import kinds
from gateway.jobs.calls import call_job
from gateway.procedures import database, find_tables, take
from gateway.results import Outcome
from journal.errors import Code, PalimpsestError
from rewriter.statement import Call

if TYPE_CHECKING:
    from gateway.session import Session


def call_procedure(session: Session, call: Call, parameters: Mapping[str, Any]) -> Outcome:
    """Run a procedure; raises UNKNOWN_FUNCTION for others than those of this module."""
    name = call.procedure.lower()
    procedure = PROCEDURES.get(name)
    given = {k: _value(v, parameters) for k, v in call.arguments}
    if procedure is not None:
        return procedure(session, given)
    schema, _, kind = name.rpartition(".")
    if schema != "system" or kind not in kinds.names():
        known = [*PROCEDURES, *(f"system.{k}" for k in kinds.names())]
        raise PalimpsestError(
            Code.UNKNOWN_FUNCTION,
            f"there is no procedure {call.procedure}",
            advice="there are " + ", ".join(known),
        )
    return call_job(session, kind, given)


def _value(node: exp.Expr, parameters: Mapping[str, Any]) -> Any:
    if isinstance(node, exp.Placeholder):
        return parameters[node.name]
    if isinstance(node, exp.Literal) and not node.is_string:
        return int(node.name) if node.name.isdigit() else float(node.name)
    if isinstance(node, exp.Boolean | exp.Null):
        return node.this if isinstance(node, exp.Boolean) else None
    if isinstance(node, exp.Column):
        return ".".join(part.name for part in node.parts)
    return node.name or node.sql(dialect="duckdb")


def _flush(session: Session, arguments: Mapping[str, Any]) -> Outcome:
    name = take("system.flush", arguments, ("table",)).get("table")
    rows: dict[str, list[Any]] = {"table": [], "rows": [], "bytes": [], "segment": []}
    for table in find_tables(session, name):
        session.cancellation.check()
        for segment in session.executor.sealer.seal(table.id):
            rows["table"].append(str(table.name))
            rows["rows"].append(segment.counts.total)
            rows["bytes"].append(segment.bytes)
            rows["segment"].append(segment.id)
    types = [("table", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
    schema = pa.schema([*types, ("segment", pa.string())])
    return session.executor.held("CALL", pa.table(rows, schema=schema))


def _create_index(session: Session, arguments: Mapping[str, Any]) -> Outcome:
    """Propose or make the indexes that adopted journals of a database lack."""
    from journal.database.indexing import index

    given = take("system.create_index", arguments, ("table", "dry_run"))
    make = str(given.get("dry_run", False)).lower() not in {"true", "1"}
    journal = database(session)
    found = [index(journal, t, make=make) for t in find_tables(session, given.get("table"))]
    shown = [(str(p.table.name), p.state, p.statement) for p in found if p is not None]
    names = ("table", "state", "statement")
    columns = {n: [row[i] for row in shown] for i, n in enumerate(names)}
    schema = pa.schema([(n, pa.string()) for n in names])
    return session.executor.held("CALL", pa.table(columns, schema=schema))


Procedure = Callable[["Session", Mapping[str, Any]], Outcome]
PROCEDURES: dict[str, Procedure] = {
    "system.create_index": _create_index,
    "system.flush": _flush,
    "system.hold": holds.place,
    "system.release": holds.release,
}
