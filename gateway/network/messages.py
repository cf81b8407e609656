"""What a client's program and a server say to each other, inside of the PostgreSQL protocol.

A call is a query of one text, ``CALL_SQL``, with two parameters: an ``OwnerCall`` as JSON, and the
version of these messages. Its rows have one column of bytes: first an answer as JSON, then Arrow
batches. An error of the call is an answer, too, so that it arrives with all its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from gateway.config import Settings
from gateway.network.values import from_json, to_json
from gateway.sharing.messages import Answered, Failed, OutcomeHead, OwnerCall, SessionState
from journal.model.catalog import change_from_json, change_to_json
from journal.model.errors import Code, PalimpsestError, Position
from journal.model.named_definitions import PutDefinition, definition_key
from journal.model.plan import PutRelation
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot
from journal.model.sequence_changes import PutSequence

PROTOCOL = "1"
"""Raised by every change of these messages; both ends must have the same."""
CALL_SQL = "SELECT answer FROM palimpsest_call($1, $2) AS c(answer)"
OPERATIONS = frozenset({"gateway.shell.describing:journal_size"})
"""What servers do besides statements: it only looks."""
_SETTINGS = tuple(entry.name for entry in fields(Settings) if "about" in entry.metadata)
_SHOWN = (*_SETTINGS, "dialect", "taken", "prepared", "home", "path")
"""What a client knows of its session's settings."""


def check_operation(name: str) -> None:
    """Raise NOT_SUPPORTED for an operation that servers do not run for clients."""
    if name not in OPERATIONS:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "this works on the machine of the warehouse only, not through a server",
            advice="run the command there; jobs, holds and erasures also run by CALL and ERASE",
        )


def call_to_json(call: OwnerCall) -> str:
    """A call; raises PARAMETERS for arguments that cannot be sent."""
    return to_json(
        [call.operation, list(call.arguments), call.transaction_id, call.again, list(call.dropped)]
    )


def call_from_json(text: str) -> OwnerCall:
    """The call of such a text; raises PROTOCOL."""
    match from_json(text):
        case [str(name), list(arguments), str() | None as known, bool(again), list(dropped)]:
            return OwnerCall(name, tuple(arguments), known, again, tuple(dropped))
    raise PalimpsestError(
        Code.PROTOCOL,
        "a message of another program is not a call",
        advice="use the same version in all programs",
    )


def answer_to_json(answer: Answered | Failed) -> str:
    """An answer; the rows of a result are not in it."""
    state = None if answer.state is None else _state_to_values(answer.state)
    if isinstance(answer, Failed):
        place = None if answer.position is None else [answer.position.line, answer.position.column]
        return to_json(["failed", [answer.code, answer.message, answer.advice, place], state])
    match answer.value:
        case OutcomeHead(tag, count, skipped, columns, result, _, whole, rejected, notices):
            shown = None if columns is None else [[c.name, c.type] for c in columns]
            head = [tag, count, skipped, shown, result, whole, rejected, list(notices)]
            return to_json(["outcome", head, state])
        case CatalogSnapshot() as catalog:
            return to_json(["catalog", _catalog_to_values(catalog), state])
        case value:
            return to_json(["value", value, state])


def answer_from_json(text: str) -> Answered | Failed:
    """The answer of such a text; raises PROTOCOL."""
    kind, value, raw = from_json(text)
    state = None if raw is None else _state_from_values(raw)
    match kind:
        case "failed":
            code, message, advice, place = value
            if code not in Code.__members__:
                code = Code.STORE.name
            return Failed(code, message, advice, None if place is None else Position(*place), state)
        case "outcome":
            tag, count, skipped, shown, result, whole, *others = value
            columns = None if shown is None else [ResultColumn(*column) for column in shown]
            head = OutcomeHead(tag, count, skipped, columns, result, (), whole, *others)
            return Answered(head, state)
        case "catalog":
            return Answered(_catalog_from_values(value), state)
        case _:
            return Answered(value, state)


def settings_to_values(settings: Settings, before: Settings) -> dict[str, Any]:
    """The settings by name whose values are others than before."""
    found = {name: getattr(settings, name) for name in _SETTINGS}
    return {name: value for name, value in found.items() if value != getattr(before, name)}


def _state_to_values(state: SessionState) -> list[Any]:
    settings = {name: getattr(state.settings, name) for name in _SHOWN}
    return [state.status, state.has_written, state.is_pinned, settings]


def _state_from_values(values: list[Any]) -> SessionState:
    status, has_written, is_pinned, given = values
    settings = Settings(**{name: given[name] for name in given if name in _SHOWN})
    return SessionState(status, has_written, is_pinned, settings)


def _catalog_to_values(catalog: CatalogSnapshot) -> dict[str, Any]:
    return {
        "generation": catalog.generation,
        "home": catalog.home,
        "own": catalog.own,
        "database": catalog.database,
        "schemas": dict(catalog.schemas),
        "relations": [change_to_json(PutRelation(r)) for r in catalog.relations.values()],
        "sequences": [change_to_json(PutSequence(s)) for s in catalog.sequences.values()],
        "definitions": [change_to_json(PutDefinition(d)) for d in catalog.definitions.values()],
    }


def _catalog_from_values(values: Mapping[str, Any]) -> CatalogSnapshot:
    relations, sequences, definitions = {}, {}, {}
    for raw in (*values["relations"], *values["sequences"], *values["definitions"]):
        match change_from_json(raw):
            case PutRelation(relation):
                relations[relation.name.key] = relation
            case PutSequence(sequence):
                sequences[sequence.name.key] = sequence
            case PutDefinition(definition):
                definitions[definition_key(definition)] = definition
    return CatalogSnapshot(
        values["generation"],
        MappingProxyType(values["schemas"]),
        MappingProxyType(relations),
        values["home"],
        values["own"],
        values["database"],
        MappingProxyType(sequences),
        MappingProxyType(definitions),
    )
