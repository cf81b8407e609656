"""Options of a client's session: its schema, and the settings of the gateway by their names."""

from __future__ import annotations

from gateway.servers.flight.sessions import FlightClient
from gateway.servers.flight.wire import flight_pb2 as wire
from gateway.session.session import Session
from gateway.session.set_values import after_text
from journal.model.errors import Code, PalimpsestError

_INVALID_NAME, _INVALID_VALUE = 1, 2


def set_options(client: FlightClient, body: bytes) -> bytes:
    """Set what can be set; the answer names what cannot be, and why."""
    asked = wire.SetSessionOptionsRequest.FromString(body)
    answer = wire.SetSessionOptionsResult()
    with client.working(None) as worker:
        for name, given in asked.session_options.items():
            wrong = _set(worker.session, name, _value(given))
            if wrong:
                answer.errors[name].value = wrong
        client.settings = worker.session.settings
    return bytes(answer.SerializeToString())


def get_options(client: FlightClient) -> bytes:
    """All options that have a value."""
    answer = wire.GetSessionOptionsResult()
    with client.working(None) as worker:
        session = worker.session
        found = {name: value for name, value, _ in session.settings.rows()}
        found["catalog"] = session.catalog.database
        for name, value in found.items():
            if value is not None:
                answer.session_options[name].string_value = value
    return bytes(answer.SerializeToString())


def _set(session: Session, name: str, value: str | None) -> int:
    """Set one option; what is wrong with it, 0 for nothing."""
    if name == "catalog":
        return 0 if value in (None, "", session.catalog.database) else _INVALID_VALUE
    if name == "schema" and value is not None:
        if value not in session.catalog.schemas:
            return _INVALID_VALUE
    try:
        given, catalog = session.settings, session.catalog
        if value is None:
            session.settings = given.with_setting(name, None)
        else:
            session.settings = after_text(given, name, value, catalog, session.user)
    except PalimpsestError as error:
        return _INVALID_NAME if error.code is Code.UNKNOWN_SETTING else _INVALID_VALUE
    return 0


def _value(given: wire.SessionOptionValue) -> str | None:
    kind = given.WhichOneof("option_value")
    if kind is None:
        return None
    value = getattr(given, kind)
    if kind == "string_list_value":
        return ",".join(value.values)
    return str(value).lower() if kind == "bool_value" else str(value)
