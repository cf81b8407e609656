"""Names that clients give to commits, so that none is committed twice."""

from __future__ import annotations

from sqlglot import exp

from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.records.catalog import rows_committed
from journal.transactions.protocol import OpenJournal
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed


class CommitNames:
    """The names of the commits of one call, in the order in which they come."""

    def __init__(self, journal: OpenJournal, name: str, again: bool) -> None:
        self._journal = journal
        self._name = name
        self._again = again
        self._count = 0

    def next(self) -> str:
        """The name of the next commit."""
        name = f"{self._name}-{self._count}" if self._count else self._name
        self._count += 1
        return name

    def rows_committed(self, name: str | None) -> int | None:
        """How many rows were changed under a name by a call whose answer nobody heard, or None."""
        if not self._again or name is None:
            return None
        with self._journal.reading_session() as session:
            return rows_committed(session, name)


def known_outcome(parsed: Parsed, rows: int) -> StatementOutcome:
    """What a statement did that was committed before its answer was lost.

    Raises ROWS_LOST for a statement that gives rows: what it read is not there to be read again.
    """
    statement = parsed.statement
    if isinstance(statement, SqlStatement):
        ast = statement.ast
        if isinstance(ast, exp.Query) or ast.args.get("returning") is not None:
            raise PalimpsestError(
                Code.ROWS_LOST,
                f"the statement was committed and changed {rows:,} rows; the process that had the"
                " warehouse open ended before it sent the rows that the statement returns",
                advice="do not run it again; read the rows by their keys, or what was changed from"
                " table_changes() at the last version of system.transactions",
            )
    return StatementOutcome(parsed.text.split(None, 1)[0].upper(), rows)
