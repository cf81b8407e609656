"""SET, RESET, USE and SHOW of a session's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.config import Settings
from gateway.session.executor import Executor
from gateway.session.outcome import StatementOutcome
from gateway.session.roles import OF_TRANSACTION, setting_text, with_role
from gateway.session.set_values import after_set
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, fold
from journal.model.visibility import visible_to
from journal.transactions.protocol import OpenJournal
from journal.transactions.transaction import Transaction
from rewriter.dialect_semantics import VARIABLE, semantics_of
from rewriter.statement import Release, Rollback, Savepoint, SetSetting, SqlStatement
from rewriter.syntax.parsing import Parsed

_ALL = "all"
_SHOWN = {"timezone": "TimeZone", "datestyle": "DateStyle", "intervalstyle": "IntervalStyle"}
"""How PostgreSQL's SHOW spells settings whose names are not in lower case."""


class SettingSession(Protocol):
    """What of a session is needed to change its settings."""

    journal: OpenJournal
    executor: Executor
    settings: Settings
    settings_at_start: Settings
    user: str | None
    transaction: Transaction | None

    @property
    def catalog(self) -> CatalogSnapshot:
        """The current catalog, as the session sees it."""

    def run_bound(self, parsed: Parsed, bound: Mapping[str, Any]) -> StatementOutcome:
        """Run a statement of SQL."""

    def begin_implicitly(self) -> None:
        """Begin a transaction where the next statement would begin one."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A savepoint: the settings there, and those that would hold behind a COMMIT."""

    name: str
    settings: Settings
    kept: Settings | None


class TransactionSettings:
    """Changes a session's settings, and undoes what ends with a transaction.

    SET LOCAL ends with it. In dialects that say so every SET is undone by ROLLBACK, and by ROLLBACK
    TO a savepoint before it.
    """

    def __init__(self) -> None:
        self._begun: Settings | None = None
        """What held before the first change in the transaction."""
        self._kept: Settings | None = None
        """What holds behind a COMMIT, where something was set for the transaction alone."""
        self._marks: list[_Mark] = []

    def change(self, session: SettingSession, statement: SetSetting) -> StatementOutcome:
        """Run a SET, RESET or USE; SET LOCAL outside of a transaction changes nothing.

        Raises UNKNOWN_SETTING, SETTING_VALUE, UNKNOWN_SCHEMA, and FAILED_TRANSACTION where the
        dialect says so.
        """
        if statement.local:
            session.begin_implicitly()
        check_settable(session)
        before, after = session.settings, _after(session, statement)
        if not statement.local:
            # What is set for good inside a transaction outlives what was set for it alone.
            self._kept = None if self._kept is None else _with_changes(self._kept, before, after)
        elif session.transaction is None:
            return StatementOutcome(statement.tag)
        else:
            self._kept = self._kept or before
        if session.transaction is not None:
            self._begun = self._begun or before
        _put(session, after)
        return StatementOutcome(statement.tag)

    def follow(self, session: SettingSession, statement: Savepoint | Release | Rollback) -> None:
        """Do with settings what was done with the transaction at one of its savepoints."""
        if not semantics_of(session.settings.dialect).settings_are_undone:
            return
        if isinstance(statement, Savepoint):
            self._marks.append(_Mark(fold(statement.name), session.settings, self._kept))
            return
        name = fold(statement.name if isinstance(statement, Release) else statement.savepoint or "")
        place = max(n for n, mark in enumerate(self._marks) if mark.name == name)
        mark = self._marks[place]
        if isinstance(statement, Release):
            del self._marks[place:]
            return
        del self._marks[place + 1 :]
        self._kept = mark.kept
        _put(session, _with_kept(mark.settings, session.settings))

    @contextmanager
    def ending(self, session: SettingSession) -> Iterator[None]:
        """The block commits the session's transaction; an error rolls it back."""
        try:
            yield
        except BaseException:
            self.end(session, committed=False)
            raise
        self.end(session, committed=True)

    def end(self, session: SettingSession, *, committed: bool) -> None:
        """The session has no transaction any more."""
        is_undone = not committed and semantics_of(session.settings.dialect).settings_are_undone
        found = self._begun if is_undone else self._kept
        self._begun, self._kept = None, None
        self._marks.clear()
        if found is not None:
            session.settings = _with_kept(found, session.settings)


def check_settable(session: SettingSession) -> None:
    """Raise FAILED_TRANSACTION where a failed transaction neither takes nor shows settings."""
    if session.transaction is not None:
        if semantics_of(session.settings.dialect).settings_are_undone:
            session.transaction.check_open()


def _put(session: SettingSession, settings: Settings) -> None:
    before, session.settings = session.settings, settings
    if session.transaction is not None and settings.commit_message != before.commit_message:
        session.transaction.message = settings.commit_message


def _after(session: SettingSession, statement: SetSetting) -> Settings:
    if statement.value is None and statement.name.lower() == _ALL:
        now = session.settings
        kept = _with_kept(session.settings_at_start, now)
        return replace(kept, role=now.role, login_role=now.login_role)
    if isinstance(statement.value, exp.Table) and session.transaction is None:
        # USE is to find what others have made since this session last looked.
        session.journal.begin(at_once=True).rollback()
    before = session.settings
    if statement.name.lower().startswith(VARIABLE):
        given = None if statement.value is None else _variable_text(session, statement.value)
        return before.with_variable(statement.name[len(VARIABLE) :], given)
    if statement.name.lower() == "role":
        return with_role(before, statement.value, session.catalog, session.user)
    catalog = session.catalog
    seen = visible_to(catalog, catalog.rights_of(before.role))
    if statement.value is None:
        after = before.with_start(statement.name, session.settings_at_start)
    else:
        after = after_set(before, statement.name, statement.value, seen, session.user)
    if after.timezone is not None and after.timezone != before.timezone:
        with session.journal.reading_session() as store:
            store.use_zone(after.timezone)
    return after


def _with_kept(settings: Settings, now: Settings) -> Settings:
    """Settings with the prepared statements and variables there are now, which no RESET ends.

    A name of a program's own that is known now stays known, as an empty text.
    """
    known = dict(settings.taken)
    own = tuple((name, "") for name, _ in now.taken if "." in name and name not in known)
    taken = (*settings.taken, *own)
    return replace(settings, prepared=now.prepared, variables=now.variables, taken=taken)


def _variable_text(session: SettingSession, value: exp.Expr) -> str:
    """The value that an expression or a subquery has now, as SQL of its type."""
    inner = exp.select(exp.Alias(this=value.copy(), alias="v")).subquery("given")
    query = exp.select("v", exp.cast(exp.column("v"), "VARCHAR")).from_(inner)
    outcome = session.run_bound(Parsed(SqlStatement(query), query.sql(dialect="duckdb"), ()), {})
    assert outcome.columns is not None
    assert outcome.rows is not None
    rows = outcome.rows.take(2)
    outcome.close()
    if len(rows) != 1:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            "a variable takes one value, and the expression gives another number of rows",
            advice="make a list of them, as list(..) and [..] do",
        )
    ((_, text),) = rows
    literal = exp.null() if text is None else exp.Literal.string(text)
    kind = outcome.columns[0].type
    of = "INTEGER" if "NULL" in kind else kind
    return exp.cast(literal, of, dialect="duckdb").sql(dialect="duckdb")


def _with_changes(kept: Settings, before: Settings, after: Settings) -> Settings:
    names = [f.name for f in fields(Settings) if f.init]
    changed = {n: getattr(after, n) for n in names if getattr(after, n) != getattr(before, n)}
    return replace(kept, **changed)


def take_read_only(transaction: Transaction, settings: Settings, name: str) -> None:
    """Have a SET of ``name`` say whether the open transaction writes.

    In dialects that undo settings only ``transaction_read_only`` is about the open one.
    """
    if name.lower() == OF_TRANSACTION:
        transaction.read_only = settings.is_read_only
    elif settings.is_read_only and not semantics_of(settings.dialect).settings_are_undone:
        transaction.read_only = True


def show_setting(session: SettingSession, name: str) -> StatementOutcome:
    """SHOW of one setting, or SHOW ALL; raises UNKNOWN_SETTING."""
    check_settable(session)
    settings = session.settings
    if name.lower() != _ALL:
        who = _of_user(session, name.lower())
        text = who
        if text is None:
            text = setting_text(settings, name, session.catalog, session.transaction)
        if semantics_of(settings.dialect).settings_are_undone:
            name = _SHOWN.get(name.lower(), name.lower())
        return session.executor.table_outcome("SHOW", pa.table({name: [text]}))
    columns = zip(*settings.rows(), strict=True)
    names = ("name", "setting", "description")
    found = {n: pa.array(values, pa.string()) for n, values in zip(names, columns, strict=True)}
    return session.executor.table_outcome("SHOW", pa.table(found))


def _of_user(session: SettingSession, name: str) -> str | None:
    """What PostgreSQL tells of who has logged in as settings; None for others."""
    if semantics_of(session.settings.dialect).settings_are_undone:
        if name == "session_authorization":
            return session.user or ""
        if name == "is_superuser":
            rights = session.catalog.rights_of(session.settings.role)
            return "on" if rights.is_admin else "off"
    return None
