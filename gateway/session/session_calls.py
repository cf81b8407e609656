"""set_config, pg_notify and advisory locks of PostgreSQL, called in a SELECT, and DISCARD.

Values are computed by the store from left to right, so that ``current_setting`` sees what stands
before it and not what follows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.config import Settings
from gateway.session.advisory_locks import Held, LockKey
from gateway.session.cancellation import Cancellation
from gateway.session.durations import duration_text
from gateway.session.outcome import StatementOutcome
from gateway.session.roles import setting_text
from gateway.session.savepoints import in_progress, transaction_of
from gateway.session.setting_statements import SettingSession, TransactionSettings
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.result_column import ResultColumn
from journal.transactions.temporary import Temporary
from rewriter.statement import (
    Discard,
    LockTables,
    SelectedCall,
    SelectedCalls,
    SetSetting,
    SqlStatement,
    StoreUpkeep,
)
from rewriter.syntax.parsing import Parsed
from rewriter.syntax.statements.session_calls import NOTIFY, SET_CONFIG

_VOID = ""
"""What PostgreSQL gives for a function without a value, as text."""
_TAGS = {"CHANNELS": "UNLISTEN", "MESSAGE": "NOTIFY"}
_BIGINT = range(-(1 << 63), 1 << 63)


class CallingSession(SettingSession, Protocol):
    """What of a session such statements change."""

    transaction_settings: TransactionSettings
    temporary: Temporary
    cancellation: Cancellation


@dataclass(slots=True)
class _LocalSettings:
    """What a session goes back to when the statement ends; None where nothing was for it alone."""

    before: Settings | None = None


def run_session_calls(
    session: CallingSession, statement: SelectedCalls, bound: Mapping[str, Any]
) -> StatementOutcome:
    """Make the calls, each once, from left to right."""
    if statement.if_setting is not None and not _is_setting(session, statement.if_setting):
        nothing = {column.name: pa.array([], pa.string()) for column in statement.columns}
        return session.executor.table_outcome("SELECT", pa.table(nothing))
    names: list[str] = []
    arrays: list[pa.Array] = []
    local = _LocalSettings()
    try:
        for column in statement.columns:
            value = _value(session, column, bound, local)
            if column.is_shown:
                names.append(column.name)
                arrays.append(value)
    finally:
        if local.before is not None:
            session.settings = local.before
    return session.executor.table_outcome("SELECT", pa.Table.from_arrays(arrays, names=names))


def _is_setting(session: CallingSession, name: str) -> bool:
    try:
        setting_text(session.settings, name, session.catalog)
    except PalimpsestError as error:
        if error.code is Code.UNKNOWN_SETTING:
            return False
        raise
    return True


def call_columns(statement: SelectedCalls) -> list[ResultColumn]:
    """The columns of such a SELECT, for a client that asks before it runs it."""
    return [ResultColumn(c.name, _type_of(c)) for c in statement.columns if c.is_shown]


def _type_of(column: SelectedCall) -> str:
    is_flag = column.function is not None and (
        column.function.startswith(("pg_try_", "pg_advisory_unlock"))
        and column.function != "pg_advisory_unlock_all"
    )
    return "BOOLEAN" if is_flag else "VARCHAR"


def _value(
    session: CallingSession, column: SelectedCall, bound: Mapping[str, Any], local: _LocalSettings
) -> pa.Array:
    values = [_argument(session, node, bound) for node in column.arguments]
    if column.function is None:
        return pa.array([None if values[0] is None else str(values[0])], pa.string())
    if column.function == SET_CONFIG:
        return pa.array([_set_config(session, values, local)], pa.string())
    if column.function == NOTIFY:
        _check_message(values)
        return pa.array([_VOID], pa.string())
    done = _lock(session, column.function, values)
    return pa.array([_VOID if done is None else done], pa.string() if done is None else pa.bool_())


def _argument(session: CallingSession, node: exp.Expr, bound: Mapping[str, Any]) -> Any:
    inner = node.unalias()
    if isinstance(inner, exp.Placeholder):
        return bound[inner.name]
    if isinstance(inner, exp.Literal) and (inner.is_string or inner.is_int):
        return inner.name if inner.is_string else int(inner.name)
    if isinstance(inner, exp.Boolean):
        return bool(inner.this)
    if isinstance(inner, exp.Null):
        return None
    query = exp.select(exp.alias_(inner.copy(), "value"))
    names = tuple(p.name for p in query.find_all(exp.Placeholder))
    parsed = Parsed(SqlStatement(query), f"{query.sql(dialect='duckdb')} -- argument", ())
    outcome = session.run_bound(parsed, {n: bound[n] for n in names})
    assert outcome.rows is not None
    ((value,),) = outcome.rows.take(2)
    outcome.close()
    return value


def _set_config(session: CallingSession, values: list[Any], local: _LocalSettings) -> str | None:
    """Change a setting: for good, for the transaction, or outside of one for the statement."""
    if len(values) != 3 or values[0] is None:
        raise _misfit("set_config takes a name, a value and whether it is for the transaction")
    name, value, is_local = str(values[0]), values[1], _is_true(values[2])
    given = None if value is None else exp.Literal.string(str(value))
    session.transaction_settings.change(session, SetSetting(name, given, is_local))
    if is_local and session.transaction is None:
        if local.before is None:
            local.before = session.settings
        session.settings = session.settings.with_setting(name, value)
        return None if value is None else str(value)
    if local.before is not None:
        local.before = local.before.with_setting(name, value)
    return setting_text(session.settings, name, session.catalog, session.transaction)


def _check_message(values: list[Any]) -> None:
    """Raise unless it is a message for a channel, to which nobody can have listened."""
    if len(values) != 2 or not values[0]:
        raise _misfit("pg_notify takes the name of a channel, and a payload")


def _is_true(value: Any) -> bool:
    return str(value).lower() in {"true", "t", "on", "1", "yes"}


def _lock(session: CallingSession, function: str, values: list[Any]) -> bool | None:
    """Run a function on advisory locks; None for one that gives no value."""
    locks = session.executor.advisory_locks
    if function == "pg_advisory_unlock_all" and not values:
        locks.end(session, of_transaction=False)
        return None
    key = _key(function, values)
    shared = function.endswith("_shared")
    if function.startswith("pg_advisory_unlock"):
        return locks.give_back(session, key, Held(shared, of_transaction=False))
    base = function.removesuffix("_shared").removeprefix("pg_").removeprefix("try_")
    if base not in {"advisory_lock", "advisory_xact_lock"}:
        raise _misfit(f"there is no function {function}")
    how = Held(shared, of_transaction=base == "advisory_xact_lock")
    if how.of_transaction:
        session.begin_implicitly()
    try:
        if function.startswith("pg_try_"):
            return locks.try_take(session, key, how)
        with session.cancellation.running():
            locks.take(session, key, how, _patience(session))
        return None
    finally:
        # Without a transaction of the client's its own ends with this statement.
        if how.of_transaction and session.transaction is None:
            locks.end(session, of_transaction=True)


def _patience(session: CallingSession) -> Callable[[], None]:
    """What to call while a lock is waited for; raises LOCK_TIME when that has taken too long."""
    begun_s, allowed_ms = time.monotonic(), session.settings.lock_timeout

    def check() -> None:
        session.cancellation.check()
        if 0 < allowed_ms < (time.monotonic() - begun_s) * 1000:
            raise PalimpsestError(
                Code.LOCK_TIME,
                f"canceling statement due to lock timeout of {duration_text(allowed_ms)}",
                advice="run it again later, or SET lock_timeout to a longer time or 0",
            )

    return check


def _key(function: str, values: list[Any]) -> LockKey:
    numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
    numbers += [int(v) for v in values if isinstance(v, str) and v.lstrip("-").isdigit()]
    if len(numbers) != len(values) or len(values) not in {1, 2}:
        raise _misfit(f"{function} takes one whole number, or two")
    if any(number not in _BIGINT for number in numbers):
        raise _misfit(f"{function} takes numbers of 64 bits")
    return tuple(numbers)


def _misfit(message: str) -> PalimpsestError:
    return PalimpsestError(Code.PARAMETERS, message, advice="see docs/sql.md for the function")


def run_discard(session: CallingSession, statement: Discard) -> StatementOutcome:
    """Forget what a session has made for itself, as a pool of connections asks for.

    Raises ACTIVE_TRANSACTION for ALL and TEMP inside of a transaction.
    """
    what = statement.what
    if session.transaction is not None:
        session.transaction.check_open()
    if what in {"ALL", "TEMP"}:
        if session.transaction is not None and session.transaction.explicit:
            raise in_progress()
        numbers = session.temporary.numbers
        session.temporary.close()
        session.temporary = Temporary(session.journal)
        session.temporary.numbers = numbers
    if what in {"ALL", "SEQUENCES"}:
        session.temporary.numbers.forget()
    if what == "ALL":
        now, began = session.settings, session.settings_at_start
        session.settings = replace(began, role=now.login_role, login_role=now.login_role)
        session.executor.advisory_locks.end(session, of_transaction=False)
    return StatementOutcome(_TAGS.get(what) or f"DISCARD {what}")


def run_lock(session: CallingSession, statement: LockTables) -> StatementOutcome:
    """LOCK TABLE in a mode that keeps nobody out: the tables must be there."""
    transaction_of(session, "LOCK TABLE")
    for table in statement.tables:
        name = table.sql(dialect="duckdb")
        parsed = Parsed(StoreUpkeep("LOCK TABLE", table), f"LOCK TABLE {name} -- one", ())
        session.run_bound(parsed, {}).close()
    return StatementOutcome("LOCK TABLE")
