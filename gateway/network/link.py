"""A session of a server, as ``RemoteSession`` wants it: calls go through one connection of psycopg.

    call --> answer                      the usual case
    call --> the connection is cut       an open transaction is lost (08006); of a COMMIT nobody
                                         knows (08007) until system.transactions has been asked

Nothing is sent a second time: a new connection is the client's to make.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import IO, Any

import psycopg
from psycopg import conninfo

from gateway.config import Settings
from gateway.network.messages import (
    CALL_SQL,
    PROTOCOL,
    answer_from_json,
    call_to_json,
    check_operation,
    settings_to_values,
)
from gateway.network.urls import conninfo_of, user_of_url
from gateway.opening.url_secrets import check_login, without_password
from gateway.sharing.messages import Answered, Failed, OutcomeHead, OwnerCall, SessionState
from gateway.sharing.time_zone import process_zone
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot

_CALL = CALL_SQL.replace("$1", "%s").replace("$2", "%s")
_CODE = re.compile(r"(.*) \((PAL-\d+)\)", re.DOTALL)
_BY_CODE = {code.value.code: code for code in Code}
_CONNECT_S = "20"
_PIECE = 1 << 16
_RESULTS = {"gateway.shell.describing:journal_size": "gateway.shell.describing:JournalSize"}
"""What operations that servers run return, by the operations' names."""
_ANSWERED = {
    "gateway.shell.own_files:accesses_files": False,
    "gateway.shell.own_files:reads_files": False,
}
"""What this end knows itself: a server has other files than this machine."""


class ServerLink:
    """A server's session; see ``gateway.sharing.remote.RemoteOwner``, whose methods these are."""

    def __init__(
        self,
        url: str,
        *,
        dialect: str,
        autocommit: bool,
        user: str | None,
        application: str | None,
        settings: Settings,
    ) -> None:
        """Connect; raises STORE_UNREACHABLE, STORE_LOGIN, URL, or what the server says."""
        self.root = without_password(url)
        self._connection = _connected(url, user, application)
        self._dropped: list[int] = []
        self._catalog: CatalogSnapshot | None = None
        self._lock = threading.Lock()
        self._autocommit = autocommit
        self.state = SessionState("idle", False, False, Settings(dialect=dialect))
        try:
            given = settings_to_values(settings, Settings())
            self.call("hello", dialect, autocommit, process_zone(), given)
        except BaseException:
            self._connection.close()
            raise

    @property
    def session_key(self) -> str:
        """Which session the numbers of results are of; empty after the connection."""
        return "" if self._connection.closed else "server"

    def call(
        self,
        operation: str,
        *arguments: Any,
        commits: bool = False,
        advance: Callable[..., None] | None = None,
        batches: list[memoryview] | None = None,
        single: bool = False,
    ) -> Any:
        """What an operation returns; raises its error, STORE_LOST, OUTCOME_UNKNOWN."""
        del advance
        if operation == "track":
            return None
        if operation == "perform" and arguments[0] in _ANSWERED:
            return _ANSWERED[arguments[0]]
        given: tuple[Any, ...] = arguments
        if operation == "perform":
            check_operation(arguments[0])
            given = (arguments[0], list(arguments[1]))
        if operation == "set_settings":
            given = (settings_to_values(arguments[0], self.state.settings),)
        name = uuid.uuid4().hex if commits else None
        dropped, self._dropped = tuple(self._dropped), []
        call = OwnerCall(operation, given, name, dropped=dropped)
        before = self.state
        try:
            answer, raw = self._ask(call)
        except psycopg.Error as error:
            raise self._broken_off(error, call, before, single) from error
        if answer.state is not None:
            self.state = answer.state
        if isinstance(answer, Failed):
            raise answer.error()
        if batches is not None:
            batches += raw
        return self._value(operation, arguments, answer.value, raw)

    def drop(self, result: int) -> None:
        """Fetch nothing more of a result; the server hears of it with the next call."""
        self._dropped.append(result)

    def rows_lost(self) -> PalimpsestError:
        """The error of rows that were to be fetched through a connection that is over."""
        return self._loss_error("the rows that were not fetched yet are gone")

    def signal(self, kind: str) -> Any:
        """``cancel`` what runs; nothing else is known of it."""
        if kind == "cancel" and not self._connection.closed:
            with self._lock:
                try:
                    self._connection.cancel_safe(timeout=5.0)
                except psycopg.Error:
                    return None
        return None

    def copy_in(self, text: str, file: IO[bytes]) -> int | None:
        """Load the data of a COPY through the protocol; how many rows."""
        self.call("begin_implicitly")
        file.seek(0)
        try:
            with self._connection.cursor() as cursor:
                with cursor.copy(text.encode()) as copy:
                    while piece := file.read(_PIECE):
                        copy.write(piece)
                rows = cursor.rowcount
        except psycopg.Error as error:
            if self._connection.closed:
                raise self._loss_error("nobody knows whether its rows were loaded") from error
            self.call("nothing")
            raise _failure(error) from error
        self.call("nothing")
        return rows

    def starts_with(self, *, autocommit: bool) -> None:
        """What the client has set, which decides what a lost answer leaves in doubt."""
        self._autocommit = autocommit

    def check_not_lost(self) -> None:
        """A connection that was cut says so with each call."""

    def forget_loss(self) -> None:
        """A transaction that was lost with its connection is rolled back."""
        if self._connection.closed:
            self.state = SessionState("idle", False, False, self.state.settings)

    def close(self) -> None:
        """Leave; the server rolls back what is open."""
        self._connection.close()

    def _ask(self, call: OwnerCall) -> tuple[Answered | Failed, list[memoryview]]:
        parameters = (call_to_json(call), PROTOCOL)
        cursor = self._connection.execute(_CALL, parameters, prepare=True, binary=True)
        rows = [memoryview(answer) for (answer,) in cursor.fetchall()]
        return answer_from_json(bytes(rows[0]).decode()), rows[1:]

    def _value(
        self, operation: str, arguments: Sequence[Any], value: Any, raw: Sequence[memoryview]
    ) -> Any:
        match value:
            case OutcomeHead(columns=list()):
                return replace(value, rows=raw[0])
            case _ if operation == "catalog":
                self._catalog = value or self._catalog
                return self._catalog
            case list() if operation == "perform":
                module, _, kind = _RESULTS[arguments[0]].partition(":")
                return getattr(import_module(module), kind)(*value)
        return value

    def _broken_off(
        self, error: psycopg.Error, call: OwnerCall, before: SessionState, single: bool
    ) -> PalimpsestError:
        """The error of a call without an answer: refused by the server, or lost on its way."""
        if not self._connection.closed:
            return _failure(error)
        # Only now, for it takes the parser, which a client needs for nothing else.
        from gateway.sharing.lost_calls import contents

        limits = before.settings.limits
        found = contents(call.operation, call.arguments, before.settings.dialect, limits)
        alone = before.status == "idle" and self._autocommit and call.transaction_id is not None
        ends = found.commits and before.has_written
        if found.is_single or single or ends or (alone and not found.only_reads):
            return PalimpsestError(
                Code.OUTCOME_UNKNOWN,
                f"the connection to {self.root} was lost before the server said whether transaction"
                f" {call.transaction_id} was committed",
                advice="it was, if system.transactions has a row whose transaction_id is that",
            )
        return self._loss_error("the open transaction and temporary tables are gone")

    def _loss_error(self, why: str) -> PalimpsestError:
        return PalimpsestError(
            Code.STORE_LOST,
            f"the connection to {self.root} is lost: {why}",
            advice="connect again; what was committed is safe",
        )


def _connected(
    url: str, user: str | None, application: str | None
) -> psycopg.Connection[tuple[Any, ...]]:
    check_login(url)
    place, defaults = conninfo_of(url)
    if user is not None and user_of_url(url) is None:
        defaults["user"] = user
    defaults |= {"client_encoding": "utf8"}
    if application is not None:
        defaults["application_name"] = application
    try:
        parts: dict[str, Any] = {"connect_timeout": _CONNECT_S, **defaults}
        made = conninfo.make_conninfo(**{**parts, **conninfo.conninfo_to_dict(place)})
        return psycopg.connect(made, autocommit=True, prepare_threshold=None)
    except psycopg.ProgrammingError as error:
        raise PalimpsestError(
            Code.URL,
            f"the URL {without_password(url)} is not one that libpq takes: {_first_line(error)}",
            advice="write palimpsest://user@host:5433/?sslmode=verify-full, with options of libpq",
        ) from error
    except psycopg.Error as error:
        raise _failure(error, without_password(url)) from error


def _failure(error: psycopg.Error, place: str = "the server") -> PalimpsestError:
    """An error of the protocol, or of the way to a server, as one of ours."""
    told, state = error.diag.message_primary, error.sqlstate or ""
    text = told or _first_line(error)
    found = _CODE.search(text)
    if found is not None and found[2] in _BY_CODE:
        message = found[1].rpartition("FATAL:  ")[2]
        return PalimpsestError(_BY_CODE[found[2]], message, advice=error.diag.message_hint or "")
    if state.startswith("28") or "authentication failed" in text or "no password" in text:
        return PalimpsestError(
            Code.STORE_LOGIN,
            f"{place} refuses the login: {text}",
            advice="check user and password; ~/.pgpass and PGPASSWORD may hold the password",
        )
    return PalimpsestError(
        Code.STORE_UNREACHABLE,
        f"{place} cannot be reached: {text}",
        advice="check host and port, and that palimpsest serve runs there",
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
