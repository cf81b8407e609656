"""A table's definition from a CREATE TABLE's column list: columns, keys, constraints. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from itertools import count

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import (
    ROW_ID,
    Check,
    Column,
    Constraint,
    Identity,
    Index,
    JournalFormat,
    Table,
    TableName,
    Unique,
    fold,
)
from journal.model.triggers import Trigger
from journal.sql import dialects
from journal.sql.relations import ident
from journal.sql.typed_constants import typed_constant
from rewriter.definitions.canonical_texts import canonical_text, default_text
from rewriter.definitions.collations import read_collation, with_collations
from rewriter.definitions.column_types import type_text
from rewriter.definitions.constraint_options import check_key
from rewriter.definitions.generated_columns import (
    check_identity,
    generated_expression,
    generation_clauses,
    is_identity,
    numbered,
    numbered_if_serial,
)
from rewriter.definitions.generated_values import present_value
from rewriter.definitions.key_types import check_key_types
from rewriter.definitions.row_columns import over_physical, renamed_columns
from rewriter.definitions.user_types import DECLARED, OF_DOMAIN, domain_checks
from rewriter.functions import check_functions
from rewriter.name_resolution import VERSION, position_of
from rewriter.syntax.spelled_types import SPELLED

_ADVICE = "supported: PRIMARY KEY, UNIQUE, NOT NULL, CHECK, DEFAULT, REFERENCES, COMMENT, identity"
_GENERATED = "write GENERATED ALWAYS AS (expression) or AS IDENTITY"
LIKE_PARTS = frozenset({"defaults", "constraints", "indexes", "identity", "comments", "generated"})
"""What INCLUDING ALL means."""


@dataclass(frozen=True, slots=True)
class WantedKey:
    """A foreign key as written: physical columns, its name if it has one, what it refers to."""

    columns: tuple[str, ...]
    name: str | None
    reference: exp.Reference
    node: exp.Expr


@dataclass(slots=True)
class TableDraft:
    """A definition as it is read, piece by piece. ``used`` are physical names that are taken.

    ``wanted`` are foreign keys that seek their parents; ``column_name`` names columns in journals.
    """

    name: TableName
    format: JournalFormat
    columns: list[Column] = field(default_factory=list)
    key: tuple[str, ...] = ()
    key_name: str | None = None
    uniques: list[Unique] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)
    wanted: list[WantedKey] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    """What is said of constraints, by their folded names."""
    triggers: list[Trigger] = field(default_factory=list)
    column_name: Callable[[str], str] = str
    is_new: bool = True
    """Whether no journal has the names of ``format`` yet.

    One that has keeps them, and clients read its version columns under other names.
    """
    _waiting: list[tuple[exp.Expr, str | None]] = field(default_factory=list)
    _used: set[str] | None = None
    """The folded names of ``used``."""

    @staticmethod
    def of(table: Table, column_name: Callable[[str], str] = str) -> TableDraft:
        """The definition of a table, to be changed."""
        return TableDraft(
            table.name,
            table.format,
            list(table.columns),
            () if table.hidden_key else table.key,
            table.key_name,
            list(table.uniques),
            list(table.checks),
            list(table.physical_names),
            list(table.foreign_keys),
            list(table.indexes),
            comments=dict(table.constraint_comments),
            triggers=list(table.triggers),
            column_name=column_name,
            is_new=False,
        )

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints so far but the primary key."""
        return (*self.uniques, *self.checks, *self.foreign_keys)

    def read_elements(self, nodes: Sequence[exp.Expr]) -> None:
        """Take in the elements of a column list."""
        taken = self.column_names()
        for node in nodes:
            if isinstance(node, exp.ColumnDef):
                self._take_column(node, taken)
        self._check_waiting()
        for node in nodes:
            if not isinstance(node, exp.ColumnDef):
                self.add_constraint(node)

    def add_column(self, node: exp.ColumnDef) -> Column:
        """Take in one column with its constraints."""
        self._take_column(node, self.column_names())
        self._check_waiting()
        return self.columns[-1]

    def _check_waiting(self) -> None:
        """Take in the checks of columns, which may name columns behind their own."""
        for condition, name in self._waiting:
            self.add_check(condition, name)
        self._waiting.clear()

    def column_names(self) -> set[str]:
        """The folded names of the columns so far."""
        return {fold(c.name) for c in self.columns}

    def _take_column(self, node: exp.ColumnDef, taken: set[str]) -> None:
        self.check_new_column(node.name, node, taken)
        constraints, made = node.args.get("constraints") or [], generation_clauses(node)
        # Without a type, whatever follows the parentheses would be taken for part of them.
        alone = len(made) == 1 and isinstance(generated_expression(made[0]), exp.Paren)
        if node.args.get("kind") is None and not alone:
            raise PalimpsestError(
                Code.SYNTAX,
                f'column "{node.name}" has no type',
                advice="write a type behind the name",
                position=position_of(node),
            )
        if node.args.get("position") is not None:
            self._refuse(node, "columns are added at the end")
        # The type of a generated column may be left to its expression.
        written = node.args.get("kind")
        kind = type_text(written) if written is not None else ""
        told = written.meta if written is not None else {}
        column = Column(node.name, self.new_physical(node.name), kind, declared=told.get(DECLARED))
        column = numbered_if_serial(replace(column, spelled=told.get(SPELLED)))
        domain = told.get(OF_DOMAIN)
        if domain is not None:
            column = replace(column, not_null=domain.not_null, default=domain.default)
            self._waiting += domain_checks(domain, self.name, column.name)
        self.columns.append(column)
        for constraint in constraints:
            self._column_constraint(constraint)
        check_identity(self.columns[-1], node)

    def new_physical(self, name: str) -> str:
        """A physical name that no column of the table ever had."""
        if self._used is None:
            self._used = {fold(n) for n in self.used}
        own = {fold(n) for n in (ROW_ID, self.format.version_column, self.format.subsequent_column)}
        wanted = self.column_name(name)
        found, number = wanted, 1
        while fold(found) in self._used or fold(found) in own:
            number += 1
            found = f"{wanted}_{number}"
        self.used.append(found)
        self._used.add(fold(found))
        return found

    def table(self, table_id: int) -> Table:
        """The finished definition."""
        if not self.columns:
            raise PalimpsestError(
                Code.INVALID_DEFINITION, f"{self.name} has no columns", advice="name at least one"
            )
        columns = [replace(c, not_null=True) if c.physical in self.key else c for c in self.columns]
        key_name = self.key_name or f"{self.name.name}_pkey"
        named = {fold(c.name) for c in self.constraints} | {fold(key_name)}
        return Table(
            table_id,
            self.name,
            tuple(columns),
            self.key or (ROW_ID,),
            self.key_name,
            tuple(self.uniques),
            tuple(self.checks),
            self.format,
            physical_names=tuple(self.used),
            foreign_keys=tuple(self.foreign_keys),
            indexes=tuple(self.indexes),
            constraint_comments=tuple(said for said in self.comments.items() if said[0] in named),
            triggers=tuple(self.triggers),
        )

    def _step_aside(self, name: str) -> None:
        """Give the journal's own columns other names where a new table wants one of theirs."""
        usual, form = JournalFormat(), self.format
        if not self.is_new:
            return
        if fold(name) == fold(form.version_column):
            free = self._free_name(form.version_column, usual.version_column, name)
            self.format = replace(form, version_column=free)
        elif fold(name) == fold(form.subsequent_column):
            free = self._free_name(form.subsequent_column, usual.subsequent_column, name)
            self.format = replace(form, subsequent_column=free)

    def _free_name(self, given: str, usual: str, wanted: str) -> str:
        """The name a journal's own column gets, which is ``given`` where that was asked for."""
        if not given.startswith(usual):
            return given
        own = (self.format.version_column, self.format.subsequent_column)
        taken = {fold(n) for n in (*self.used, *self.column_names(), *own, wanted)}
        number = 1
        while fold(f"{usual}_{number}") in taken:
            number += 1
        return f"{usual}_{number}"

    def check_new_column(self, name: str, node: exp.Expr, taken: set[str]) -> None:
        """Raise if no column can be given this name, beside those ``taken``; then it is, too."""
        self._step_aside(name)
        own = {ROW_ID, VERSION}
        if self.is_new:
            own |= {self.format.version_column, self.format.subsequent_column}
        if fold(name) in {fold(n) for n in own}:
            raise PalimpsestError(
                Code.RESERVED_NAME,
                f'the column name "{name}" is the journal\'s own',
                advice="use another name, or rename the journal's: WITH (version_column = '..')",
                position=position_of(node),
            )
        if fold(name) in taken:
            raise PalimpsestError(
                Code.DUPLICATE_COLUMN,
                f'column "{name}" is named twice',
                advice="name each column once",
                position=position_of(node),
            )
        taken.add(fold(name))

    def add_like(self, source: Table, parts: Collection[str]) -> None:
        """Take in the columns of another table, and as much of the rest as ``parts`` names."""
        names: dict[str, str] = {}
        taken = self.column_names()
        for stored in source.columns:
            made = present_value(source, stored) if "generated" in parts else None
            self.check_new_column(stored.name, ident(stored.name), taken)
            names[stored.physical] = self.new_physical(stored.name)
            self.columns.append(
                replace(
                    stored,
                    physical=names[stored.physical],
                    default=stored.default if "defaults" in parts else None,
                    identity=stored.identity if "identity" in parts else None,
                    comment=stored.comment if "comments" in parts else None,
                    generated=None if made is None else canonical_text(made),
                    initial=None,
                )
            )
        if "indexes" in parts:
            if not source.hidden_key:
                kept = [source.by_physical(p).name for p in source.key]
                self.set_key(kept, None, ident(source.name.name))
            for unique in source.uniques:
                columns = tuple(names[p] for p in unique.columns)
                self.uniques.append(replace(unique, columns=columns))
            # They have no names yet: those of the source are taken.
            self.indexes += [renamed_columns(replace(i, name=""), names) for i in source.indexes]
        if "constraints" in parts:
            for check in source.checks:
                condition = dialects.stored(check.expression)
                for used in condition.find_all(exp.Column):
                    used.set("this", ident(names[used.name]))
                self.checks.append(Check(check.name, canonical_text(condition)))

    def _column_constraint(self, node: exp.ColumnConstraint) -> None:
        column = self.columns[-1]
        match node.args.get("kind"):
            case exp.PrimaryKeyColumnConstraint():
                self.set_key([column.name], node.name or None, node)
            case exp.NotNullColumnConstraint() as kind:
                # The word NULL does not lift what a domain says.
                refuses = column.not_null or not kind.args.get("allow_null")
                self.columns[-1] = replace(column, not_null=refuses)
            case exp.DefaultColumnConstraint() as kind:
                value = typed_constant(kind.this, column.type)
                text = default_text(value, f'the DEFAULT of "{column.name}"')
                self.columns[-1] = replace(column, default=text)
            case exp.CollateColumnConstraint() as kind:
                self.columns[-1] = replace(column, collation=read_collation(kind.this, column))
            case exp.UniqueColumnConstraint():
                self.add_unique([column.name], node.name or None, node)
            case exp.CheckColumnConstraint() as kind:
                self._waiting.append((kind.this, node.name or None))
            case exp.CommentColumnConstraint() as kind:
                self.columns[-1] = replace(column, comment=kind.this.name or None)
            case exp.GeneratedAsIdentityColumnConstraint() as kind if is_identity(kind):
                self.columns[-1] = numbered(column, kind)
            case exp.AutoIncrementColumnConstraint():
                self.columns[-1] = replace(column, identity=Identity(), not_null=True)
            case exp.Reference() as kind:
                self.want_foreign_key([column.name], node.name or None, kind, node)
            case kind if (made := generated_expression(node)) is not None:
                self.columns[-1] = replace(column, generated=canonical_text(made.unnest()))
            case exp.GeneratedAsIdentityColumnConstraint():
                self._refuse(node, _GENERATED)
            case _:
                self._refuse(node, _ADVICE)

    def add_constraint(self, node: exp.Expr, name: str | None = None) -> None:
        """Take in one constraint of the table."""
        match node:
            case exp.Constraint():
                for inner in node.expressions:
                    self.add_constraint(inner, node.name)
            case exp.PrimaryKey():
                named = [e.this if isinstance(e, exp.Ordered) else e for e in node.expressions]
                self.set_key([e.name for e in named], name, node)
            case exp.UniqueColumnConstraint() if isinstance(node.this, exp.Schema):
                names = [e.name for e in node.this.expressions]
                self.add_unique(names, name or node.this.name or None, node)
            case exp.CheckColumnConstraint():
                self.add_check(node.this, name)
            case exp.IndexColumnConstraint():
                # What MySQL says inside of a table's definition; it changes no answer.
                return
            case exp.ForeignKey() if isinstance(node.args.get("reference"), exp.Reference):
                self.want_foreign_key(
                    [e.name for e in node.expressions], name, node.args["reference"], node
                )
            case _:
                self._refuse(node, _ADVICE)

    def set_key(self, names: Sequence[str], name: str | None, node: exp.Expr) -> None:
        """Take in the primary key."""
        if self.key:
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f"{self.name} has two primary keys",
                advice="declare one, over several columns if need be",
                position=position_of(node),
            )
        check_key(names, node)
        self.key = self.physical_names(names, node)
        self.key_name = name
        check_key_types((c for c in self.columns if c.physical in self.key), node)

    def add_unique(self, names: Sequence[str], name: str | None, node: exp.Expr) -> None:
        """Take in a UNIQUE constraint."""
        check_key(names, node)
        columns = self.physical_names(names, node)
        shown = name or self._constraint_name([*names, "key"])
        self._check_constraint_name(shown, node)
        self.uniques.append(Unique(shown, columns))

    def add_check(self, condition: exp.Expr, name: str | None) -> None:
        """Take in a CHECK constraint."""
        for part in condition.find_all(exp.Query, exp.Placeholder):
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f"a CHECK of {self.name} cannot contain {canonical_text(part)}",
                advice="a check looks at one row only",
                position=position_of(condition),
            )
        check_functions(condition)
        bare = over_physical(
            condition,
            self.name,
            self.column_names(),
            lambda name, used: self.physical_names([name], used)[0],
        )
        bare = with_collations(bare, self.columns)
        named = {fold(c.name) for c in condition.find_all(exp.Column)}
        used = [c.name for c in self.columns if fold(c.name) in named]
        shown = name or self._constraint_name([*used, "check"] if len(used) == 1 else ["check"])
        self._check_constraint_name(shown, condition)
        self.checks.append(Check(shown, canonical_text(bare)))

    def want_foreign_key(
        self, names: Sequence[str], name: str | None, reference: exp.Reference, node: exp.Expr
    ) -> None:
        """Take in a foreign key, whose parent is found when all else is known."""
        if name is not None:
            self._check_constraint_name(name, node)
        self.wanted.append(WantedKey(self.physical_names(names, node), name, reference, node))

    def _constraint_name(self, parts: Sequence[str]) -> str:
        """The name that PostgreSQL gives a constraint: of the table, its columns, and its kind."""
        taken = {fold(k.name) for k in self.constraints}
        shown = "_".join([self.name.name, *parts])
        names = (f"{shown}{n or ''}" for n in count())
        return next(name for name in names if fold(name) not in taken)

    def _check_constraint_name(self, name: str, node: exp.Expr) -> None:
        taken = [k.name for k in self.constraints]
        taken += [w.name for w in self.wanted if w.name is not None]
        if fold(name) in {fold(n) for n in taken}:
            raise PalimpsestError(
                Code.DUPLICATE_TYPE,
                f'{self.name} has two constraints "{name}"',
                advice="give each constraint its own name",
                position=position_of(node),
            )

    def physical_names(self, names: Sequence[str], node: exp.Expr) -> tuple[str, ...]:
        """Physical names of columns that a constraint names."""
        known = {fold(c.name): c.physical for c in self.columns}
        for name in names:
            if fold(name) not in known:
                raise PalimpsestError(
                    Code.UNKNOWN_COLUMN,
                    f'a constraint of {self.name} names "{name}", which is not a column',
                    advice=f"its columns are {', '.join(c.name for c in self.columns)}",
                    position=position_of(node),
                )
        return tuple(dict.fromkeys(known[fold(name)] for name in names))

    def _refuse(self, node: exp.Expr, advice: str) -> None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{canonical_text(node)} in a table definition is not supported",
            advice=advice,
            position=position_of(node),
        )
