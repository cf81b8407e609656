"""SET, RESET, USE and SHOW of a session's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.config import Settings
from gateway.session.executor import Executor
from gateway.session.outcome import StatementOutcome
from gateway.session.roles import setting_text, with_role
from gateway.session.set_values import after_set
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot
from journal.model.visibility import visible_to
from journal.transactions.protocol import OpenJournal
from journal.transactions.transaction import Transaction
from rewriter.dialect_semantics import VARIABLE
from rewriter.statement import SetSetting, SqlStatement
from rewriter.syntax.parsing import Parsed

_ALL = "all"


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


class LocalSettings:
    """Changes a session's settings, and undoes those of SET LOCAL when its transaction ends."""

    def __init__(self) -> None:
        self._before: Settings | None = None

    def change(self, session: SettingSession, statement: SetSetting) -> StatementOutcome:
        """Run a SET, RESET or USE; SET LOCAL outside of a transaction changes nothing.

        Raises UNKNOWN_SETTING, SETTING_VALUE, UNKNOWN_SCHEMA.
        """
        if statement.local:
            session.begin_implicitly()
        before, after = session.settings, _after(session, statement)
        if not statement.local:
            # What is set for good inside a transaction outlives what was set for it alone.
            self._before = (
                None if self._before is None else _with_changes(self._before, before, after)
            )
        elif session.transaction is None:
            return StatementOutcome("SET")
        else:
            self._before = self._before or before
        session.settings = after
        if session.transaction is not None and statement.name.lower() == "commit_message":
            session.transaction.message = after.commit_message
        return StatementOutcome("SET")

    def end(self, settings: Settings) -> Settings:
        """The settings behind the end of a transaction."""
        before, self._before = self._before, None
        return settings if before is None else _with_kept(before, settings)


def _after(session: SettingSession, statement: SetSetting) -> Settings:
    if statement.value is None and statement.name.lower() == _ALL:
        now = session.settings
        kept = _with_kept(session.settings_at_start, now)
        return replace(kept, role=now.role, login_role=now.login_role)
    if isinstance(statement.value, exp.Table) and session.transaction is None:
        # USE is to find what others have made since this session last looked.
        session.journal.begin(explicit=True).rollback()
    before = session.settings
    if statement.name.lower().startswith(VARIABLE):
        given = None if statement.value is None else _variable_text(session, statement.value)
        return before.with_variable(statement.name[len(VARIABLE) :], given)
    if statement.name.lower() == "role":
        return with_role(before, statement.value, session.catalog, session.user)
    catalog = session.catalog
    seen = visible_to(catalog, catalog.rights_of(before.role))
    after = after_set(before, statement.name, statement.value, seen, session.user)
    if after.timezone is not None and after.timezone != before.timezone:
        with session.journal.reading_session() as store:
            store.use_zone(after.timezone)
    return after


def _with_kept(settings: Settings, now: Settings) -> Settings:
    """Settings with the prepared statements and variables there are now, which no RESET ends."""
    return replace(settings, prepared=now.prepared, variables=now.variables)


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
    names = [f.name for f in fields(Settings)]
    changed = {n: getattr(after, n) for n in names if getattr(after, n) != getattr(before, n)}
    return replace(kept, **changed)


def show_setting(session: SettingSession, name: str) -> StatementOutcome:
    """SHOW of one setting, or SHOW ALL; raises UNKNOWN_SETTING."""
    settings = session.settings
    if name.lower() != _ALL:
        text = setting_text(settings, name, session.catalog)
        return session.executor.table_outcome("SHOW", pa.table({name: [text]}))
    columns = zip(*settings.rows(), strict=True)
    names = ("name", "setting", "description")
    found = {n: pa.array(values, pa.string()) for n, values in zip(names, columns, strict=True)}
    return session.executor.table_outcome("SHOW", pa.table(found))
