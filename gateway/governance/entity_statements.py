"""CREATE, ALTER, DROP, SHOW and DESCRIBE of entities: the operations of declarations, from SQL.

One schema for SQL and YAML: fields become a ``Declaration`` whose errors name their position. What
fails raises, since a statement is about one entity.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.governance import entity_operations, entity_scheduling
from gateway.governance.declarations import Declaration
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import EntityResult
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.records.entity_rows import EntityRow
from rewriter.statements.entities import (
    AlterEntity,
    CreateEntity,
    DropEntity,
    EntityStatement,
    ShowEntities,
)

if TYPE_CHECKING:
    from gateway.session.session import Session

_CHANGES = {
    "SCHEDULE": entity_scheduling.schedule_entities,
    "SUSPEND": entity_scheduling.suspend_entities,
    "RESUME": entity_scheduling.resume_entities,
}
_RESULT = ("kind", "name", "outcome", "version", "state")
_SHOWN = ("name", "version", "owner", "user_name", "began_at", "state")


def run_entity_statement(session: Session, statement: EntityStatement) -> StatementOutcome:
    """Run a statement about entities; raises what its operation reports of the one entity.

    Raises ACTIVE_TRANSACTION in a transaction that has written, READ_ONLY in one that may not.
    """
    if isinstance(statement, ShowEntities):
        return _show(session, statement)
    tag = f"{_verb(statement)} {statement.kind.upper()}"
    if session.settings.is_read_only:
        session.new_transaction().check_writable(tag)
    if session.transaction is not None and session.transaction.writes:
        raise PalimpsestError(
            Code.ACTIVE_TRANSACTION,
            f"{tag} cannot run inside a transaction that has written",
            advice="COMMIT or ROLLBACK first: an entity is on record at once",
        )
    match statement:
        case CreateEntity():
            result = _create(session, statement)
        case AlterEntity():
            result = _alter(session, statement)
        case DropEntity():
            result = _drop(session, statement)
    if result.error is not None:
        raise result.error
    row = (result.kind.value, result.name, result.outcome, result.version, result.state)
    columns = {name: [value] for name, value in zip(_RESULT, row, strict=True)}
    types = {"version": pa.int64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _RESULT])
    return session.executor.table_outcome(tag, pa.table(columns, schema=schema))


def _verb(statement: CreateEntity | AlterEntity | DropEntity) -> str:
    return {CreateEntity: "CREATE", AlterEntity: "ALTER", DropEntity: "DROP"}[type(statement)]


def _create(session: Session, statement: CreateEntity) -> EntityResult:
    kind, name = EntityKind(statement.kind), statement.name
    fields = dict(statement.fields)
    if "sql" in fields and session.dialect != "duckdb":
        fields.setdefault("dialect", session.dialect)
    entity = _entity(statement, fields)
    known = _current(session, kind, name)
    if known is not None and statement.exists:
        return EntityResult(kind, name, "UNCHANGED", known.version)
    if known is not None and statement.replace:
        (result,) = entity_operations.update_entities(session, no_progress, [entity])
    else:
        (result,) = entity_operations.submit_entities(session, no_progress, [entity])
    return result


def _alter(session: Session, statement: AlterEntity) -> EntityResult:
    kind, name = EntityKind(statement.kind), statement.name
    if statement.action == "TOUCH":
        (result,) = entity_scheduling.touch_entities(session, no_progress, [(kind, name)])
        return result
    if statement.action in _CHANGES:
        (result,) = _CHANGES[statement.action](session, no_progress, [(kind, name)])
        return result
    known = _current(session, kind, name)
    if known is None:
        raise entity_operations.unknown_entity(kind, name)
    before = json.loads(known.definition)
    for field in statement.remove:
        if field not in before:
            raise PalimpsestError(
                Code.ENTITY,
                f"{kind} {name} states no {field}",
                advice=f"it states {', '.join(before)}",
            )
    kept = {n: _as_text(v) for n, v in before.items() if n not in statement.remove}
    entity = _entity(statement, {**kept, **statement.change})
    (result,) = entity_operations.update_entities(session, no_progress, [entity], known.version)
    return result


def _drop(session: Session, statement: DropEntity) -> EntityResult:
    kind, name = EntityKind(statement.kind), statement.name
    if statement.exists and _current(session, kind, name) is None:
        return EntityResult(kind, name, "UNCHANGED")
    return entity_operations.delete_entity(session, no_progress, kind, name)


def _entity(statement: CreateEntity | AlterEntity, fields: dict[str, Any]) -> Entity:
    """The entity of some fields; its error has the position of the field that is wrong."""
    shown = f"{statement.kind} {statement.name}"
    whole = {"kind": statement.kind, "name": statement.name, **fields}
    return read_entity(Declaration(whole, shown, positions=statement.positions))


def _as_text(value: Any) -> Any:
    """A field of a definition as declarations write it: every scalar is a text."""
    if isinstance(value, dict):
        return {name: _as_text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def _current(session: Session, kind: EntityKind, name: str) -> EntityRow | None:
    rows = entity_operations.list_entities(session, no_progress, kind)
    return next((row for row in rows if row.name == name), None)


def _show(session: Session, statement: ShowEntities) -> StatementOutcome:
    kind = EntityKind(statement.kind)
    if statement.name is None:
        found = entity_operations.list_entities(session, no_progress, kind)
        known = entity_scheduling.entity_status(session, no_progress, kind)
        states = {status.name: status.state for status in known}
        shown = [
            (r.name, str(r.version), json.loads(r.definition).get("owner"), r.user_name,
             r.began_at.isoformat(), states.get(r.name))
            for r in found
        ]  # fmt: skip
        return _texts(session, "SHOW", _SHOWN, shown)
    row = _current(session, kind, statement.name)
    if row is None:
        raise entity_operations.unknown_entity(kind, statement.name)
    (status,) = entity_scheduling.entity_status(session, no_progress, kind, row.name)
    fields = {"kind": row.kind, "name": row.name, "version": row.version, "state": status.state}
    fields |= json.loads(row.definition)
    told = [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in fields.items()
    ]
    return _texts(session, "DESCRIBE", ("field", "value"), told)


def _texts(
    session: Session, tag: str, names: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> StatementOutcome:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    schema = pa.schema([(name, pa.string()) for name in names])
    return session.executor.table_outcome(tag, pa.table(columns, schema=schema))
