"""Rows of lineage: edges, the statements that made them, and how often columns are used.

    commit -> ``add_lineage``                in the commit's own transaction
    about once a minute -> ``add_counts``    sums of runs, reads and writes

    readers: ``load_edges``, ``edges_beside``, ``load_statements``, ``statements_of``,
        ``load_usage``

Every store has the same. Nodes are those of ``journal.model.lineage``; what they are called now,
the catalog says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import ColumnNode, CommittedLineage, NodeEdge
from journal.model.store_session import RecordSession
from journal.model.version import Version, to_datetime
from journal.records.schema import LINEAGE, LINEAGE_STATEMENTS, USAGE
from journal.records.statements import (
    RecordStatement,
    by,
    count,
    delete,
    execute,
    insert_missing,
    insert_rows,
    is_among,
    select,
    update,
)
from journal.transactions.transaction_rows import TransactionRow

LineageAuthor = tuple[str | None, str | None]
"""User and application of whoever ran a statement."""
_ASKED = (1, 4, 16, 64, 256)
"""Nodes or ids that are asked for by one statement."""
_ADD_STATEMENT = insert_missing(LINEAGE_STATEMENTS)
_IN_FORCE = count(LINEAGE, by("statement", "until"))
_END = update(LINEAGE, ["until"], by("target", "until"))
_END_SOURCE = update(LINEAGE, ["until"], by("source", "until"))
_EDGES = select(LINEAGE, order=["since", "target", "target_column", "source", "source_column"])
_STATEMENTS = select(LINEAGE_STATEMENTS, order=["first_version", "id"])
_USAGE = select(USAGE, order=["day", "node", "column_name"])
_COUNTED = select(LINEAGE_STATEMENTS, ["runs"], by("id"))
_COUNT = update(LINEAGE_STATEMENTS, ["runs", "last_seen"], by("id"))
_USED = select(USAGE, where=by("day"))
_OF_STATEMENT = count(LINEAGE, by("statement"))
_FORGET_STATEMENT = delete(LINEAGE_STATEMENTS, by("id"))
_FORGET_EDGES = delete(LINEAGE, by("statement", "target"))
_FORGET_USAGE = delete(USAGE, {"node": exp.EQ, "day": exp.LT})
_RENAME = [
    (update(table, [column], by(column)))
    for table, column in ((LINEAGE, "target"), (LINEAGE, "source"), (USAGE, "node"))
]


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An edge on record: whose statement made it, and from which version until which.

    ``until`` is 0 while no new definition of its view has ended it.
    """

    statement: str
    edge: NodeEdge
    since: Version
    until: Version


@dataclass(frozen=True, slots=True)
class LineageStatement:
    """A statement on record, without its values; ``runs`` counts its commits."""

    id: str
    digest: str
    tag: str
    text: str
    user: str | None
    application: str | None
    first_version: Version
    last_seen: datetime
    runs: int


@dataclass(slots=True)
class Uses:
    """How often something was read and written, and when last."""

    reads: int = 0
    writes: int = 0
    last_read: datetime | None = None
    last_written: datetime | None = None

    def add(self, more: Uses) -> None:
        """Count further uses."""
        self.reads += more.reads
        self.writes += more.writes
        self.last_read = _later(self.last_read, more.last_read)
        self.last_written = _later(self.last_written, more.last_written)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The uses of a column, or of a whole node, on a day of UTC."""

    day: str
    of: ColumnNode
    uses: Uses


def add_lineage(session: RecordSession, rows: Iterable[TransactionRow]) -> None:
    """Record what commits bring that may not be on record, in the session's transaction.

    Nothing is asked for those that bring none.
    """
    for row in rows:
        for found in row.lineage:
            add_lineage_of(session, found, row.version, (row.user, row.application))


def add_lineage_of(
    session: RecordSession, found: CommittedLineage, version: Version, by: LineageAuthor
) -> None:
    """Record what a statement brings at a version, in the session's transaction."""
    lineage = found.lineage
    for rename in lineage.renames:
        for statement in _RENAME:
            execute(session, statement, [rename.new, rename.old])
    for node in (*lineage.ends, *lineage.gone):
        execute(session, _END, [version, node, 0])
    for node in lineage.gone:
        execute(session, _END_SOURCE, [version, node, 0])
    if not lineage.edges:
        return
    told = (found.id, found.digest, found.tag, found.text, *by, version, to_datetime(version), 0)
    # Edges are there only while their statement is: those of a new one need not be asked for.
    is_new = bool(execute(session, _ADD_STATEMENT, [*told, found.id]))
    if is_new or execute(session, _IN_FORCE, [found.id, 0]) == [(0,)]:
        insert_rows(session, LINEAGE, [(found.id, *edge, version, 0) for edge in lineage.edges])


def add_counts(
    session: RecordSession,
    runs: Mapping[str, tuple[int, datetime]],
    day: str,
    used: Mapping[ColumnNode, Uses],
) -> None:
    """Count further runs of statements by id, with the last moment, and uses of columns on a day.

    Statements that are not on record, or not any more, are left out.
    """
    for statement, (further, last) in runs.items():
        for (before,) in execute(session, _COUNTED, [statement]):
            execute(session, _COUNT, [before + further, last, statement])
    nodes = {of.node for of in used}
    found = _usage_rows(execute(session, _USED, [day]))
    sums = {row.of: row.uses for row in found if row.of.node in nodes}
    for of, uses in used.items():
        sums.setdefault(of, Uses()).add(uses)
    # Thousands of UPDATEs would keep everybody else from committing for seconds.
    for part in _parts(nodes):
        execute(session, _forget_day(len(part)), [day, *part])
    insert_rows(session, USAGE, [(day, *of, *_values(uses)) for of, uses in sums.items()])


@lru_cache
def _forget_day(size: int) -> RecordStatement:
    """Removes the uses of so many nodes on a day."""
    whole = delete(USAGE, by("day")).ast
    assert isinstance(whole, exp.Delete)
    return RecordStatement(whole.where(is_among("node", size)))


def _values(uses: Uses) -> tuple[Any, ...]:
    return (uses.reads, uses.writes, uses.last_read, uses.last_written)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((m for m in (one, other) if m is not None), default=None)


def load_edges(session: RecordSession) -> list[EdgeRow]:
    """Every edge on record, the oldest first."""
    return [_edge_row(row) for row in execute(session, _EDGES)]


def edges_beside(
    session: RecordSession, nodes: Iterable[str], *, downstream: bool, ended: bool = False
) -> list[EdgeRow]:
    """The edges in force whose source, or else whose target, is one of some nodes.

    With ``ended`` those that another query of a view has ended are among them. The nodes are asked
    for together, so that a level of a graph costs few statements.
    """
    place = "source" if downstream else "target"
    found: list[EdgeRow] = []
    for part in _parts(nodes):
        values = part if ended else [0, *part]
        rows = execute(session, _select_beside(place, len(part), ended=ended), values)
        found += map(_edge_row, rows)
    return found


def _parts(asked: Iterable[str]) -> Iterator[list[str]]:
    """What is asked for by one statement each, of few sizes: the first value fills the rest."""
    rest = list(dict.fromkeys(asked))
    while rest:
        size = next((s for s in _ASKED if s >= len(rest)), _ASKED[-1])
        part, rest = rest[:size], rest[size:]
        yield [*part, *part[:1] * (size - len(part))]


def _edge_row(row: Sequence[Any]) -> EdgeRow:
    statement, *edge, since, until = row
    return EdgeRow(statement, NodeEdge(*edge), since, until)


@lru_cache
def _select_beside(place: str, size: int, *, ended: bool) -> RecordStatement:
    return _one_of(select(LINEAGE, where={} if ended else by("until")), place, size)


@lru_cache
def _select_statements(size: int) -> RecordStatement:
    return _one_of(select(LINEAGE_STATEMENTS), "id", size)


def _one_of(whole: RecordStatement, place: str, size: int) -> RecordStatement:
    """A statement that asks for rows which have one of so many values in a column, too."""
    assert isinstance(whole.ast, exp.Select)
    return RecordStatement(whole.ast.where(is_among(place, size)), whole.gives)


def load_statements(session: RecordSession) -> list[LineageStatement]:
    """The statements that made edges, the oldest first."""
    return [LineageStatement(*row) for row in execute(session, _STATEMENTS)]


def statements_of(session: RecordSession, ids: Iterable[str]) -> list[LineageStatement]:
    """Those of the statements that have one of some ids."""
    return [
        LineageStatement(*row)
        for part in _parts(ids)
        for row in execute(session, _select_statements(len(part)), part)
    ]


def load_usage(session: RecordSession) -> list[UsageRow]:
    """How columns and nodes were used, by day."""
    return _usage_rows(execute(session, _USAGE))


def _usage_rows(rows: Iterable[Sequence[Any]]) -> list[UsageRow]:
    return [UsageRow(day, ColumnNode(node, name), Uses(*uses)) for day, node, name, *uses in rows]


def forget_lineage(
    session: RecordSession, node: str, moment: datetime, *, dry_run: bool = False
) -> int:
    """Forget the edges that lead to a node, of statements that have not run since a moment.

    Statements of which no edge is left go, too, and how the node was used on earlier days. Returns
    how many edges that were, or would be where it is a ``dry_run``.
    """
    to_node = edges_beside(session, [node], downstream=False, ended=True)
    named = {row.statement for row in to_node}
    old = {s.id for s in statements_of(session, named) if s.last_seen < moment}
    gone = [row for row in to_node if row.statement in old]
    if dry_run:
        return len(gone)
    for name in sorted(old):
        execute(session, _FORGET_EDGES, [name, node])
        if execute(session, _OF_STATEMENT, [name]) == [(0,)]:
            execute(session, _FORGET_STATEMENT, [name])
    execute(session, _FORGET_USAGE, [node, moment.date().isoformat()])
    return len(gone)
