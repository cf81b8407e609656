"""What the rewriter hands down: a statement as ordered steps over the journals.

A ``StatementPlan`` names no driver and no file; its SQL is sqlglot AST in the canonical dialect
over physical relations (see ``physical``) and the relations that earlier steps staged. The
executor runs the steps in order inside one statement of the store. Building a plan does no I/O.

Named parameters in the SQL: ``u_...`` are the client's, the ``P_...`` constants below are bound by
the transaction that runs the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from sqlglot import exp

from journal.model.access import AccessChange
from journal.model.errors import Code, Position
from journal.model.lazy_dataclass import dataclass
from journal.model.lineage import LineageTrace
from journal.model.named_definitions import DropDefinition, PutDefinition
from journal.model.number_source import CounterPosition, NumberSource
from journal.model.point_rows import KeyLookup, PointChange, PointClaim, PointRead
from journal.model.policy_scope import PutScopedPolicy
from journal.model.refusal import Refusal
from journal.model.schema import Relation, Table, TableName
from journal.model.schema_changes import DropSchema as DropSchema
from journal.model.schema_changes import PutDatabaseComment as PutDatabaseComment
from journal.model.schema_changes import PutSchema as PutSchema
from journal.model.segment import RowCounts, Tier
from journal.model.sequence_changes import DropSequence, PutSequence
from journal.model.trees import Nodes

T = TypeVar("T")

STORE_SCHEMA = "_palimpsest"
"""Schema of the store that holds the physical relations."""

PHYSICAL = "physical"
"""Marks, in a node's ``meta``, a relation of the store, which no client's text can name."""

P_VERSION = "p_version"
"""The version of the running statement, a BIGINT."""
P_SNAPSHOT = "p_snapshot"
"""The version the transaction reads at, a BIGINT."""
P_USER, P_NOW, P_STATEMENT_TIME = "p_user", "p_now", "p_statement_time"
"""The name that the client gave itself; when its transaction began, and the running statement."""
P_TIME = "p_time_"
"""Prefix of the versions of a plan's points in time, BIGINTs, numbered in their order."""
P_FILES = "p_files_"
"""Prefix of the lists of files in which a plan looks rows up by key."""
P_ROWS = "p_rows_"
"""Prefix of the numbers of rows of tables that a plan counts, numbered in their order."""
P_CURRENT = "p_current_"
"""Prefix of the numbers that the session has taken last, numbered in their order."""
USER_PARAMETER = "u_"
"""Prefix of the client's own parameters."""
BATCH = "p_batch"
"""Relation that holds the parameter rows of an ``executemany``; columns are the parameters."""


def physical(table_id: int, tier: Tier, layout: int = 0) -> exp.Table:
    """The relation of the store that shows one tier of a table's journal in one of its layouts."""
    if tier is Tier.BUFFER:
        table = exp.Table(this=exp.Identifier(this=f"tx{table_id}_buffer"))
    else:
        shape = f"x{layout}" if layout else ""
        name = exp.Identifier(this=f"t{table_id}{shape}_{tier.value}")
        table = exp.Table(this=name, db=exp.Identifier(this=STORE_SCHEMA))
    table.meta[PHYSICAL] = True
    return table


def placed(table_id: int) -> exp.Table:
    """The relation of a statement that shows a table's sealed rows less those that have ended."""
    table = exp.Table(this=exp.Identifier(this=f"tx{table_id}_placed"))
    table.meta[PHYSICAL] = True
    return table


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One SQL statement as AST, with the names of the parameters that occur in it.

    ``nodes`` are those of the AST, where they are known. ``memo`` holds what stores have made of
    the query, by names of theirs: plans are reused, and their queries with them.
    """

    ast: exp.Expr
    parameters: tuple[str, ...]
    nodes: Nodes | None = None
    memo: dict[str, Any] = field(init=False, default_factory=dict, repr=False)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What was made of the query under a name, made now if it was not yet."""
        found: T | None = self.memo.get(name)
        if found is None:
            found = self.memo[name] = make()
        return found

    @staticmethod
    def of(ast: exp.Expr) -> Query:
        """A query with its parameters and nodes read off the AST, which is finished."""
        nodes = Nodes.of(ast)
        names = dict.fromkeys(p.name for p in nodes.all(exp.Placeholder))
        return Query(ast, tuple(names), nodes)


@dataclass(frozen=True, slots=True)
class Stage:
    """Evaluate ``query`` once and keep its rows as relation ``name`` for the later steps.

    ``small`` promises at most a few thousand rows, so they may be held in memory. ``rows_of``: new
    rows of that table, its stored columns in order, and the ``Append`` of this ``name`` brings just
    them, so they may be kept where they will stay; ``skips``: less the erased (None: as SET says).
    """

    name: str
    query: Query
    small: bool = False
    rows_of: Table | None = None
    skips: bool | None = None


@dataclass(frozen=True, slots=True)
class Distinct:
    """What makes part of a guard needless: no two rows of ``stage`` agree in ``columns``.

    ``rest`` is what must return no row then.
    """

    stage: str
    columns: tuple[str, ...]
    rest: Query


@dataclass(frozen=True, slots=True)
class Guard:
    """A query that must return no row. Its first row's columns fill ``message``."""

    query: Query
    code: Code
    message: str
    advice: str = ""
    distinct: Distinct | None = None


@dataclass(frozen=True, slots=True)
class AllocateIdentity:
    """Reserve generated numbers and bind the first of them as parameter ``name``.

    As many as ``stage`` has rows, or ``count`` where that is known beforehand.
    """

    table_id: int
    column: str
    name: str
    start: int = 1
    increment: int = 1
    stage: str | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class SkipNumbers:
    """Never generate the number that ``query`` returns, or one before it."""

    table_id: int
    column: str
    start: int
    increment: int
    query: Query


@dataclass(frozen=True, slots=True)
class TakeNumbers:
    """Take the next numbers of a sequence and bind the first of them as parameter ``name``.

    As many as ``stage`` has rows, ``count`` for each. ``name`` with ``_turn`` behind it says how
    many there are before the sequence begins again. Raises SEQUENCE_END where there are too few.
    """

    source: NumberSource
    name: str
    stage: str | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class SetNumber:
    """Have a sequence go on as each row of ``query`` says: a number, and whether it was taken."""

    source: NumberSource
    query: Query


@dataclass(frozen=True, slots=True)
class Append:
    """Rows for a table's journal: its stored columns by name, then the two version columns.

    ``per_change``: how many journal rows of each kind one changed row makes, where all make the
    same; the row count follows from what was appended. ``stage`` is the relation the rows were
    staged as. ``single``: at most one row changes, which begins anew if it was there: its journal
    rows are an open one, then a closing one, then a tombstone, as many as there are.
    """

    table_id: int
    query: Query
    per_change: RowCounts | None = None
    stage: str = ""
    single: bool = False

    def counts(self, total: int) -> tuple[int, RowCounts]:
        """How many rows changed, and the kinds of the journal rows, where ``total`` were appended.

        Only for appends that are ``single`` or say what each change makes.
        """
        if self.single:
            return min(total, 1), RowCounts(*[int(total > place) for place in range(3)])
        assert self.per_change is not None
        changed = total // self.per_change.total
        return changed, self.per_change.times(changed)


@dataclass(frozen=True, slots=True)
class Fetch:
    """The statement's result set."""

    query: Query


@dataclass(frozen=True, slots=True)
class Export:
    """Write the rows of ``query`` to a file, or a folder of files; they are the row count."""

    query: Query
    path: str
    form: str
    options: tuple[tuple[str, exp.Expr], ...] = ()
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Count:
    """The statement's row count: the single value of a query."""

    query: Query


@dataclass(frozen=True, slots=True)
class PutRelation:
    """Catalog change: add a table or view, or let it stand for the one of an earlier name."""

    relation: Relation
    instead_of: TableName | None = None


@dataclass(frozen=True, slots=True)
class DropRelation:
    """Catalog change: a table or view disappears (a table's journal stays, see UNDROP)."""

    name: TableName


_OfDefinition = PutSequence | DropSequence | PutDefinition | DropDefinition | AccessChange
_OfSchema = PutSchema | DropSchema | PutScopedPolicy | PutDatabaseComment
CatalogChange = PutRelation | DropRelation | _OfSchema | _OfDefinition


@dataclass(frozen=True, slots=True)
class Change:
    """Apply one catalog change to the transaction."""

    change: CatalogChange


@dataclass(frozen=True, slots=True)
class Analyze:
    """Have the store's optimizer look at what tables hold; they are given by their ids."""

    tables: tuple[int, ...]


Numbering = AllocateIdentity | SkipNumbers | TakeNumbers | SetNumber
Step = Stage | Guard | Numbering | Append | Fetch | Export | Count | Change | Analyze


class StatementKind(StrEnum):
    """What a statement is to the session that runs it."""

    READ = "read"
    WRITE = "write"
    DDL = "ddl"


@dataclass(frozen=True, slots=True)
class RelationShape:
    """Which relation a table was read through, and why; shown by the preview."""

    BY_KEY: ClassVar[str] = "key lookup"
    """The shape of a table whose one row is looked up by its whole key."""
    table: TableName
    shape: str
    reason: str


class TransactionBoundary(StrEnum):
    """Which moment a point means when a transaction of several versions spans it."""

    AT = "at"
    """The transaction's last version: all of it is seen."""
    BEFORE = "before"
    """The transaction's first version: a range that ends before the point leaves all of it out,
    one that starts with the point takes all of it in."""


@dataclass(frozen=True, slots=True)
class PointRequest:
    """A point in time that a plan depends on.

    ``query`` gives one BIGINT: the version meant, or the moment, unless it ``is_number``, settled
    and bound as ``p_time_<place among the points>``. One that ``is_reached`` is not in the future.
    """

    query: Query
    edge: TransactionBoundary
    text: str
    position: Position | None = None
    is_number: bool = False
    is_reached: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tier in which rows are looked up file by file, by key or by another column with filters.

    Parameter ``name`` takes the paths of the files that may hold them; ``value`` is that of
    ``column`` (its physical name) or, if there is none, of the first key column: a literal or a
    parameter.
    """

    table_id: int
    tier: Tier
    name: str
    value: exp.Expr
    column: str | None = None


@dataclass(frozen=True, slots=True)
class PointInsert:
    """A row begins: for each stored column a constant, or the number that is generated for it."""

    table_id: int
    values: tuple[exp.Expr | AllocateIdentity, ...]


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A rewritten statement.

    ``tables`` holds the ids of all tables whose journals the steps read; ``system`` the names of
    the system relations they read, which the gateway supplies. ``bounded`` promises that the
    statement changes few rows and finds them by key, so it may run inside the commit section.
    ``points`` are the points in time it reads at. ``refusals``: constraints are checked by failing
    with one of them; after any other error of such an optimistic plan the full one is made, to
    learn what is wrong. ``keyed`` are the rows it looks up by key, or those that a plan from cache
    is given; ``plain`` is what such a plan comes to where it needs no store, for the first of those
    rows or for a new one. ``scans`` are the tables whose changed current view it reads other than
    by key. ``currents`` are the sequences whose last numbers it shows, as ``p_current_<place among
    them>``, or whose next ones; None: whichever the session used last. ``counted`` are tables whose
    numbers of rows it is given, as ``p_rows_<place>``; ``relied_on`` those whose rows decide, by a
    policy, what is seen. ``addresses`` are the places of result columns that are addresses, and of
    which type, as stores that keep texts do not tell. ``notices`` are told beside the result. It
    ``meets_ended`` rows if what a client asks of rows may be asked of ended ones, and fail;
    ``fails_late``: after some were given.
    ``skipped`` are tables that it reads without the rows that other open transactions hold.
    """

    kind: StatementKind
    steps: tuple[Step, ...]
    reads: frozenset[TableName] = frozenset()
    writes: frozenset[TableName] = frozenset()
    shapes: tuple[RelationShape, ...] = ()
    tag: str = ""
    tables: frozenset[int] = field(default_factory=frozenset)
    system: frozenset[str] = field(default_factory=frozenset)
    bounded: bool = False
    lookups: tuple[Lookup, ...] = ()
    points: tuple[PointRequest, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    keyed: tuple[KeyLookup, ...] = ()
    plain: PointRead | PointChange | PointClaim | PointInsert | None = None
    scans: frozenset[int] = field(default_factory=frozenset)
    currents: tuple[NumberSource | CounterPosition | None, ...] = ()
    counted: tuple[int, ...] = ()
    notices: tuple[str, ...] = ()
    meets_ended: bool = False
    fails_late: bool = False
    relied_on: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()
    addresses: tuple[tuple[int, str], ...] = ()
    trace: LineageTrace | None = field(default=None, compare=False, repr=False)
    """Where what it writes comes from, for whoever asks."""

    @property
    def takes_numbers(self) -> bool:
        """True if running it moves a sequence, even if it writes no row."""
        return any(isinstance(step, TakeNumbers | SetNumber) for step in self.steps)

    @property
    def asks_once(self) -> bool:
        """True if one query does all of it, and changes few rows if any."""
        if len(self.steps) != 1 or self.points or self.system or self.lookups:
            return False
        if isinstance(self.steps[0], Append):
            return self.bounded
        return isinstance(self.steps[0], Fetch)

    @property
    def asks_nothing(self) -> bool:
        """True if all that it needs of journals are the rows it is given."""
        if not self.keyed or self.tables or self.system or self.points or self.lookups:
            return False
        return all(isinstance(step, Append | Fetch) for step in self.steps)
