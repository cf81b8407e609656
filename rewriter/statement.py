"""What a client can say: SQL that is rewritten, and statements about the session itself.

Plain values; the parser makes them, the session and the rewriter consume them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from journal.model.dependents import Dependents
from journal.model.segment import Tier
from journal.model.suppression import Suppression


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """A statement that sqlglot parsed and the rewriter must rewrite."""

    ast: exp.Expr


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN, START TRANSACTION."""

    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT, END."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK, ABORT, or ROLLBACK TO a savepoint."""

    savepoint: str | None = None


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
    """SET name = value; RESET name has no value."""

    name: str
    value: exp.Expr | None


@dataclass(frozen=True, slots=True)
class ShowSetting:
    """SHOW name."""

    name: str


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
class Undrop:
    """UNDROP TABLE t."""

    table: exp.Table


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW of tables, schemas, columns, definitions; ``what`` says which."""

    what: str
    table: exp.Table | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN statement; with ``analyze`` its query runs and is measured."""

    statement: SqlStatement
    analyze: bool = False


Setting = SetSetting | ShowSetting
SessionStatement = Begin | Commit | Rollback | Savepoint | Release | Setting | Call | Erase
Statement = SqlStatement | SessionStatement | Restore | Undrop | Show | Explain
