"""What a client can say: SQL that is rewritten, and statements about the session itself.

Plain values; the parser makes them, the session and the rewriter consume them.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.dependents import Dependents
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import Routine
from journal.model.segment import Tier
from journal.model.store_plan import ExplainOptions
from journal.model.suppression import Suppression
from rewriter.statements.access import OfAccess
from rewriter.statements.blocks import DoBlock
from rewriter.statements.entities import EntityStatement
from rewriter.statements.own_statement import OwnStatement
from rewriter.statements.scoped_policies import SetScopedPolicy


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """A statement that sqlglot parsed and the rewriter must rewrite."""

    ast: exp.Expr


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN, START TRANSACTION; without a word for it, it writes where the session does."""

    read_only: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT, END; with ``chains`` a like transaction begins."""

    chains: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK, ABORT, or ROLLBACK TO a savepoint."""

    savepoint: str | None = None
    chains: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint:
    """SAVEPOINT name."""

    name: str


@dataclass(frozen=True, slots=True)
class Release:
    """RELEASE [SAVEPOINT] name."""

    name: str


@dataclass(frozen=True, slots=True)
class SetSetting:
    """SET name = value; RESET name has no value. ``local``: until the transaction ends."""

    name: str
    value: exp.Expr | None
    local: bool = False
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class SetConstraints:
    """SET CONSTRAINTS: names of foreign keys, each with its schema if it has one; None: ALL."""

    names: tuple[tuple[str | None, str], ...] | None
    deferred: bool


@dataclass(frozen=True, slots=True)
class CheckReferences:
    """The foreign keys, by the id of their table and their name, that are to be checked now."""

    keys: frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class ShowSetting:
    """SHOW name."""

    name: str


@dataclass(frozen=True, slots=True)
class SelectedCall:
    """One value of a SELECT of session calls: a ``function`` with arguments, or an expression.

    Calls of a CTE, which come before the others, are not shown.
    """

    name: str
    function: str | None
    arguments: tuple[exp.Expr, ...]
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class SelectedCalls:
    """SELECT set_config(..), pg_advisory_lock(..) and the like, without FROM but of a CTE of such.

    ``if_setting``: there is a row, and the calls are made, only if there is a setting of that name.
    """

    columns: tuple[SelectedCall, ...]
    if_setting: str | None


@dataclass(frozen=True, slots=True)
class CalledRoutine(SelectedCalls):
    """SELECT f(..), where f is a function in PL/pgSQL: its body runs, and gives an empty value."""

    routine: Routine
    arguments: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class Discard:
    """DISCARD ALL, PLANS, SEQUENCES or TEMP; CHANNELS for an UNLISTEN, MESSAGE for a NOTIFY."""

    what: str


@dataclass(frozen=True, slots=True)
class LockTables:
    """LOCK TABLE in a mode that keeps nobody from reading or writing rows."""

    tables: tuple[exp.Table, ...]
    mode: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name [(types)] AS statement; ``text`` and ``parameters`` are the statement's."""

    name: str
    types: tuple[exp.DataType, ...]
    statement: SqlStatement
    text: str
    parameters: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """EXECUTE name [(arguments)], positional ones under "0", "1", ..."""

    name: str
    arguments: tuple[tuple[str, exp.Expr], ...]


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE [PREPARE] name; without a name all of them."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """CALL schema.procedure(arguments), positional ones under "0", "1", ..."""

    procedure: str
    arguments: tuple[tuple[str, exp.Expr], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Segments that are shown under a table id of their own, and the tiers they have rows in.

    With ``only_missing`` rows that are there now stay as they are. ``among`` are files of all keys
    whose rows may differ, where they were looked for already.
    """

    table_id: int
    tiers: frozenset[Tier]
    only_missing: bool = False
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshView:
    """REFRESH MATERIALIZED VIEW [CONCURRENTLY] v [WITH [NO] DATA]."""

    table: exp.Table
    with_data: bool = True
    concurrently: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """RESTORE TABLE t TO VERSION|TIMESTAMP AS OF x [WHERE ..]; or to what a source shows."""

    table: exp.Table
    kind: str
    point: exp.Expr
    where: exp.Expr | None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Erase:
    """ERASE FROM t WHERE .. [SCOPE KEY | IDENTIFIER | ALL]
    [ON DEPENDENTS REPORT | REFUSE | CASCADE] [REASON 'text'].
    """

    table: exp.Table
    where: exp.Expr
    reason: str | None = None
    dependents: Dependents | None = None
    suppression: Suppression | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW of tables, schemas, columns, definitions; ``what`` says which."""

    what: str
    table: exp.Table | None = None
    schema: str | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True)
class StoreUpkeep:
    """CHECKPOINT, ANALYZE, CLUSTER and the like, which change no row; ``tag`` is the first word.

    ``table``, ``database``, ``schema`` and ``index`` are what it names, and must be there;
    a schema stands before the name of no table. ``analyzes``: the store's optimizer is to look at
    the table, or at all.
    """

    tag: str
    table: exp.Table | None = None
    database: str | None = None
    schema: exp.Table | None = None
    index: exp.Table | None = None
    analyzes: bool = False


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN statement; if the options say ANALYZE its query runs and is measured."""

    statement: SqlStatement
    options: ExplainOptions = ExplainOptions()


Setting = SetSetting | ShowSetting | SetConstraints | CheckReferences
OfSession = SelectedCalls | Discard | LockTables | DoBlock
Prepared = Prepare | Execute | Deallocate
Boundary = Begin | Commit | Rollback | Savepoint | Release
SessionStatement = Boundary | Setting | OfSession | Prepared | Call | Erase | EntityStatement
OfStore = Restore | RefreshView | Show | Explain | StoreUpkeep | SetScopedPolicy | OwnStatement
Statement = SqlStatement | SessionStatement | OfStore | OfAccess
