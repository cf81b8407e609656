"""Runs DO blocks, step by step, all of one in one transaction.

A block with handlers runs behind a savepoint, to which an error goes back before its handler runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, Protocol

from gateway.session.outcome import StatementOutcome
from gateway.session.savepoints import run_savepoint, transaction_of
from gateway.session.setting_statements import SettingSession, TransactionSettings
from journal.model.errors import Code, PalimpsestError
from rewriter.statement import Release, Rollback, Savepoint
from rewriter.statements.blocks import (
    Assign,
    Block,
    Branch,
    DoBlock,
    Raise,
    RaiseAgain,
    Return,
    Run,
    RunText,
    Step,
)
from rewriter.syntax.parsing import Parsed
from rewriter.syntax.statements.blocks import check_step

_UNHANDLED = frozenset({"57014"})
"""OTHERS leaves a cancelled statement alone."""


class BlockSession(SettingSession, Protocol):
    """What of a session blocks run on.

    ``catalog_answers`` gives what a query on PostgreSQL's catalog gives, where a server has it.
    """

    transaction_settings: TransactionSettings
    catalog_answers: Callable[[str], StatementOutcome | None] | None

    def begin_implicitly(self) -> None:
        """Begin a transaction where the next statement would begin one."""

    def begin(self, *, read_only: bool | None = None) -> None:
        """Start an explicit transaction."""

    def commit(self) -> None:
        """End the transaction."""

    def rollback(self) -> None:
        """Undo the transaction."""

    def parse(self, text: str, placeholders: bool = True) -> list[Parsed]:
        """The statements of a text."""

    def run(self, parsed: Parsed) -> StatementOutcome:
        """Run one parsed statement."""


def run_do(session: BlockSession, statement: DoBlock) -> StatementOutcome:
    """Run a block; in a transaction of its own if there is none."""
    return StatementOutcome("DO", notices=run_block(session, statement.block, "DO"))


def run_block(session: BlockSession, block: Block, what: str) -> list[str]:
    """Run a block, all of it or nothing, and give its notices; ``what`` is the statement."""
    session.begin_implicitly()
    is_own = session.transaction is None
    if is_own:
        session.begin()
    transaction = transaction_of(session, what)
    transaction.check_open()
    running = _RunningBlock(session)
    try:
        with suppress(_ReturnedError):
            running.block(block, None)
        if is_own:
            session.commit()
    except BaseException:
        if is_own:
            session.rollback()
        else:
            transaction.fail()
        raise
    return running.notices


class _ReturnedError(Exception):
    """RETURN: nothing more of the block runs."""


class _RunningBlock:
    """A block that runs, and what it has to tell."""

    def __init__(self, session: BlockSession) -> None:
        self.session = session
        self.notices: list[str] = []
        self._savepoints = count(1)

    def block(self, block: Block, handled: PalimpsestError | None) -> None:
        """Run a block; ``handled`` is the error of the handler that it stands in."""
        if not block.handlers:
            self.steps(block.steps, handled)
            return
        name = f"_palimpsest_block_{next(self._savepoints)}"
        self.mark(Savepoint(name))
        try:
            self.steps(block.steps, handled)
        except PalimpsestError as error:
            handler = next((h for h in block.handlers if _fits(h.states, error)), None)
            if handler is None:
                raise
            self.mark(Rollback(name))
            self.steps(handler.steps, error)
        except _ReturnedError:
            self.mark(Release(name))
            raise
        self.mark(Release(name))

    def mark(self, statement: Savepoint | Rollback | Release) -> None:
        """Set, release or go back to a savepoint, with the settings of then."""
        run_savepoint(self.session, statement)
        self.session.transaction_settings.follow(self.session, statement)

    def steps(self, steps: tuple[Step, ...], handled: PalimpsestError | None) -> None:
        """Run steps one after another."""
        for step in steps:
            match step:
                case Run():
                    self.run(step).close()
                case RunText():
                    self.text(step)
                case Branch():
                    chosen = next((s for c, s in step.choices if self.value(c) is True), None)
                    self.steps(step.otherwise if chosen is None else chosen, handled)
                case Block():
                    self.block(step, handled)
                case Raise():
                    self.raised(step)
                case RaiseAgain():
                    raise handled or _no_error()
                case Return():
                    raise _ReturnedError
                case Assign():
                    raise AssertionError(step)

    def run(self, step: Run) -> StatementOutcome:
        """What a statement gives; its notices are the block's."""
        outcome = self.session.run(Parsed(step.statement, step.text, ()))
        self.notices += outcome.notices
        return outcome

    def value(self, query: Run) -> Any:
        """The first value of a query; None without rows."""
        answers = self.session.catalog_answers
        answer = None if answers is None else answers(query.text)
        outcome = answer or self.run(query)
        try:
            if outcome.rows is None:
                return None
            if answer is not None:
                # A server gives rows of the catalog in Arrow alone.
                found = outcome.rows.arrow()
                return found.column(0)[0].as_py() if found.num_rows else None
            rows = outcome.rows.take(1)
            return rows[0][0] if rows else None
        finally:
            outcome.close()

    def text(self, step: RunText) -> None:
        """Run the statement of a text."""
        text = self.value(step.query)
        if text is None:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                "query string argument of EXECUTE is null",
                advice="a NULL among the parts that are joined makes all NULL: use concat()",
            )
        for parsed in self.session.parse(str(text), placeholders=False):
            check_step(parsed.statement)
            self.run(Run(parsed.statement, parsed.text)).close()

    def raised(self, step: Raise) -> None:
        """Tell a notice, or raise an error."""
        parts = step.message.replace("%%", "\0").split("%")
        values = [self.value(query) for query in step.values]
        shown = ["<NULL>" if value is None else str(value) for value in values]
        message = "".join(a + b for a, b in zip(parts, [*shown, ""], strict=True))
        message = message.replace("\0", "%")
        if not step.is_error:
            self.notices.append(message)
            return
        code = next((c for c in Code if c.value.sqlstate == step.sqlstate), Code.RAISED)
        advice = step.advice or "the block that was run raised this error"
        error = PalimpsestError(code, message, advice=advice)
        error.quotes = True
        raise error


def _fits(states: frozenset[str] | None, error: PalimpsestError) -> bool:
    """True for an error that a handler is for; a state that ends in 000 is a class of them."""
    if states is None:
        return error.sqlstate not in _UNHANDLED
    return error.sqlstate in states or f"{error.sqlstate[:2]}000" in states


def _no_error() -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        "RAISE without parameters cannot be used outside an exception handler",
        advice="write RAISE EXCEPTION 'text'",
    )
