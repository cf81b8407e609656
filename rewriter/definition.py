"""A table's definition from a CREATE TABLE's column list: columns, keys, constraints. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from journal.errors import Code, PalimpsestError
from journal.schema import (
    ROW_ID,
    Check,
    Column,
    Identity,
    JournalFormat,
    Table,
    TableName,
    Unique,
    fold,
)
from rewriter.names import position_of

_SERIAL = {"SERIAL": "INTEGER", "BIGSERIAL": "BIGINT", "SMALLSERIAL": "SMALLINT"}


def canonical(node: exp.Expr) -> str:
    """An expression or type as text in the canonical dialect."""
    return node.sql(dialect="duckdb")


@dataclass(slots=True)
class Draft:
    """A definition as it is read, column by column."""

    name: TableName
    format: JournalFormat
    columns: list[Column] = field(default_factory=list)
    key: tuple[str, ...] = ()
    key_name: str | None = None
    uniques: list[Unique] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def read(self, nodes: Sequence[exp.Expr]) -> None:
        """Take in the elements of a column list."""
        for node in nodes:
            if isinstance(node, exp.ColumnDef):
                self.add_column(node)
        for node in nodes:
            if not isinstance(node, exp.ColumnDef):
                self._constraint(node, None)

    def add_column(self, node: exp.ColumnDef) -> Column:
        """Take in one column with its constraints."""
        if any(fold(c.name) == fold(node.name) for c in self.columns):
            raise PalimpsestError(
                Code.DUPLICATE_COLUMN,
                f'column "{node.name}" is named twice',
                advice="name each column once",
                position=position_of(node),
            )
        self._check_name(node)
        if node.args.get("kind") is None:
            raise PalimpsestError(
                Code.SYNTAX,
                f'column "{node.name}" has no type',
                advice="write a type behind the name",
                position=position_of(node),
            )
        kind = canonical(node.args["kind"])
        column = Column(node.name, node.name, kind)
        if kind.upper() in _SERIAL:
            column = replace(column, type=_SERIAL[kind.upper()], identity=Identity(), not_null=True)
        self.columns.append(column)
        for constraint in node.args.get("constraints") or []:
            self._column_constraint(constraint)
        return self.columns[-1]

    def table(self, table_id: int) -> Table:
        """The finished definition."""
        if not self.columns:
            raise PalimpsestError(
                Code.INVALID_DEFINITION, f"{self.name} has no columns", advice="name at least one"
            )
        key = self.key or (ROW_ID,)
        columns = [replace(c, not_null=True) if c.physical in self.key else c for c in self.columns]
        return Table(
            table_id,
            self.name,
            tuple(columns),
            key,
            self.key_name,
            tuple(self.uniques),
            tuple(self.checks),
            self.format,
            physical_names=tuple(c.physical for c in columns),
        )

    def _check_name(self, node: exp.ColumnDef) -> None:
        reserved = {ROW_ID, self.format.version_column, self.format.subsequent_column}
        if fold(node.name) in reserved:
            raise PalimpsestError(
                Code.RESERVED_NAME,
                f'the column name "{node.name}" is the journal\'s own',
                advice="use another name",
                position=position_of(node),
            )

    def _column_constraint(self, node: exp.ColumnConstraint) -> None:
        column = self.columns[-1]
        match node.args["kind"]:
            case exp.PrimaryKeyColumnConstraint():
                self._set_key([column.name], node.name or None, node)
            case exp.NotNullColumnConstraint() as kind:
                self.columns[-1] = replace(column, not_null=not kind.args.get("allow_null"))
            case exp.DefaultColumnConstraint() as kind:
                self.columns[-1] = replace(column, default=canonical(kind.this))
            case exp.UniqueColumnConstraint():
                self._add_unique([column.name], node.name or None, node)
            case exp.CheckColumnConstraint() as kind:
                self._add_check(kind.this, node.name or None)
            case exp.CommentColumnConstraint() as kind:
                self.columns[-1] = replace(column, comment=kind.this.name)
            case exp.GeneratedAsIdentityColumnConstraint() as kind if kind.this is not None:
                self.columns[-1] = replace(column, identity=_identity(kind), not_null=True)
            case exp.AutoIncrementColumnConstraint():
                self.columns[-1] = replace(column, identity=Identity(), not_null=True)
            case _:
                self._refuse(node)

    def _constraint(self, node: exp.Expr, name: str | None) -> None:
        match node:
            case exp.Constraint():
                for inner in node.expressions:
                    self._constraint(inner, node.name)
            case exp.PrimaryKey():
                self._set_key([_column_name(e) for e in node.expressions], name, node)
            case exp.UniqueColumnConstraint():
                names = [e.name for e in node.this.expressions]
                self._add_unique(names, name or node.this.name or None, node)
            case exp.CheckColumnConstraint():
                self._add_check(node.this, name)
            case _:
                self._refuse(node)

    def _set_key(self, names: Sequence[str], name: str | None, node: exp.Expr) -> None:
        if self.key:
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f"{self.name} has two primary keys",
                advice="declare one, over several columns if need be",
                position=position_of(node),
            )
        self.key = self._physical(names, node)
        self.key_name = name

    def _add_unique(self, names: Sequence[str], name: str | None, node: exp.Expr) -> None:
        columns = self._physical(names, node)
        shown = name or "_".join([self.name.name, *names, "key"])
        self.uniques.append(Unique(shown, columns))

    def _add_check(self, condition: exp.Expr, name: str | None) -> None:
        bare = condition.copy()
        for used in bare.find_all(exp.Column):
            found = self._physical([used.name], used)
            used.set("table", None)
            used.set("this", exp.to_identifier(found[0], quoted=True))
        shown = name or f"{self.name.name}_check{len(self.checks) + 1}"
        self.checks.append(Check(shown, canonical(bare)))

    def _physical(self, names: Sequence[str], node: exp.Expr) -> tuple[str, ...]:
        known = {fold(c.name): c.physical for c in self.columns}
        for name in names:
            if fold(name) not in known:
                raise PalimpsestError(
                    Code.UNKNOWN_COLUMN,
                    f'a constraint of {self.name} names "{name}", which is no column',
                    advice=f"its columns are {', '.join(c.name for c in self.columns)}",
                    position=position_of(node),
                )
        return tuple(known[fold(name)] for name in names)

    def _refuse(self, node: exp.Expr) -> None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the constraint {node.sql(dialect='duckdb')} is not supported",
            advice="supported are PRIMARY KEY, UNIQUE, NOT NULL, CHECK, DEFAULT and identity",
            position=position_of(node),
        )


def _column_name(node: exp.Expr) -> str:
    return node.this.name if isinstance(node, exp.Ordered) else node.name


def _identity(node: exp.GeneratedAsIdentityColumnConstraint) -> Identity:
    def number(name: str, default: int) -> int:
        value = node.args.get(name)
        return default if value is None else int(value.sql())

    return Identity(bool(node.this), number("start", 1), number("increment", 1))
