"""What the actions of an ALTER TABLE do to a definition, one by one. Pure.

``Alteration`` starts from a table's definition. Besides the new one it remembers which columns get
their values from an expression over the old ones, and which must be checked in the rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import Deferral, ForeignKey
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import SPELLED_SERIAL, Column, Table, Unique, fold
from journal.sql import dialects
from journal.sql.builders import is_variable
from journal.sql.relations import column
from journal.sql.sql import cast
from journal.sql.typed_constants import typed_constant
from rewriter.definitions import trigger_columns
from rewriter.definitions.added_values import value_of_added
from rewriter.definitions.canonical_texts import canonical_text, default_text
from rewriter.definitions.column_types import type_text
from rewriter.definitions.definition import TableDraft
from rewriter.definitions.generated_checks import check_free, computed_from, settle_added
from rewriter.definitions.key_types import has_zone
from rewriter.definitions.late_keys import add_late_key, drop_key, loosen_key
from rewriter.definitions.policies import changed_properties
from rewriter.definitions.row_columns import column_path, columns_of, renamed_columns, with_fields
from rewriter.definitions.struct_fields import FieldChange
from rewriter.definitions.user_types import DECLARED, OF_DOMAIN, domain_checks
from rewriter.definitions.whole_numbers import are_texts, are_whole, is_cast_of
from rewriter.functions import check_functions
from rewriter.name_resolution import position_of, unknown_column
from rewriter.syntax.spelled_types import SPELLED
from rewriter.users import stored_expression

_PLAIN = (
    *(exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.Neg, exp.Paren, exp.DataType),
    *(exp.DataTypeParam, exp.Array, exp.Identifier, exp.Interval, exp.Var),
)


@dataclass(slots=True)
class Alteration:
    """A definition under change.

    ``values`` gives new values over the old row (alias ``t``, physical names); ``rewritten`` names
    the columns whose values every row must be given anew, ``concerned`` those the rows are checked
    for. ``drops_dependents``: constraints and indexes go with a column that they are over; else
    only checks of that column alone do. ``unchecked`` are places of wanted foreign keys NOT VALID,
    ``validated`` the names of those to check now. ``continued`` columns get a new counter. A table
    that is ``rekeyed`` has lost the key by which its journal finds rows.
    """

    table: Table
    draft: TableDraft
    values: dict[str, exp.Expr] = field(default_factory=dict)
    rewritten: set[str] = field(default_factory=set)
    concerned: set[str] = field(default_factory=set)
    uniques: list[Unique] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    drops_dependents: bool = False
    unchecked: set[int] = field(default_factory=set)
    validated: set[str] = field(default_factory=set)
    renamed: set[str] = field(default_factory=set)
    continued: set[str] = field(default_factory=set)
    rekeyed: bool = False

    @staticmethod
    def of(
        table: Table, column_name: Callable[[str], str], *, drops_dependents: bool = False
    ) -> Alteration:
        """An alteration that has changed nothing yet."""
        draft = TableDraft.of(table, column_name)
        properties = dict(table.properties)
        return Alteration(table, draft, properties=properties, drops_dependents=drops_dependents)

    def set_property(self, name: str, value: str | None) -> None:
        """Set a property of the table; None removes it."""
        self.properties = changed_properties(self.properties, name, value, self.draft.columns)

    def column_index(self, name: str, node: exp.Expr) -> int:
        """Place of the column of that name."""
        for index, stored in enumerate(self.draft.columns):
            if fold(stored.name) == fold(name):
                return index
        raise unknown_column(name, self._drafted(), node)

    def _drafted(self) -> Table:
        return replace(self.table, columns=tuple(self.draft.columns))

    def has_column(self, name: str) -> bool:
        """True if there is a column of that name."""
        return any(fold(c.name) == fold(name) for c in self.draft.columns)

    def add_column(self, node: exp.ColumnDef) -> None:
        """ADD COLUMN: rows there are get the default."""
        if node.args.get("exists") and self.has_column(node.name):
            return
        before = len(self.draft.uniques), len(self.draft.checks)
        had_key = bool(self.draft.key)
        self.draft.add_column(node)
        settle_added(self.draft)
        if self.draft.key and not had_key:
            add_late_key(self.draft, node)
        self.uniques += self.draft.uniques[before[0] :]
        for check in self.draft.checks[before[1] :]:
            self._concern_check(check.expression)
        self.concerned |= {p for u in self.draft.uniques[before[0] :] for p in u.columns}
        stored = self.draft.columns[-1]
        self.concerned |= {stored.physical} if stored.not_null else set()
        default: exp.Expr = exp.Null()
        if stored.generated or stored.identity:
            default = value_of_added(stored, self._drafted(), self.values)
            self.rewritten.add(stored.physical)
        elif stored.default is not None:
            default = stored_expression(stored.default)
            if _is_plain(default):
                self.replace_column(len(self.draft.columns) - 1, initial=stored.default)
            else:
                self.rewritten.add(stored.physical)
        self.values[stored.physical] = cast(default, stored.type)

    def drop_column(self, name: str, node: exp.Drop) -> None:
        """DROP COLUMN: its values stay readable in the past.

        CASCADE drops what needs it too: columns computed from it, constraints, indexes.
        """
        if node.args.get("exists") and not self.has_column(name):
            return
        physical = self.draft.columns[self.column_index(name, node)].physical
        if node.args.get("cascade"):
            while computed := computed_from(self.draft.columns, physical):
                self.drop_column(computed.name, node)
        index = self.column_index(name, node)
        check_free(self.draft.columns, physical, f'column "{name}" cannot be dropped')
        keys = [u for u in self.draft.uniques if physical in u.columns]
        checks = [c for c in self.draft.checks if physical in columns_of(c.expression)]
        references = [k for k in self.draft.foreign_keys if physical in k.columns]
        indexes = [i for i in self.draft.indexes if physical in (*i.columns, *i.included)]
        triggers = trigger_columns.triggers_over(self.draft.triggers, self.draft.columns[index])
        needing: list[str] = [f"trigger {trigger.name}" for trigger in triggers]
        if not self.drops_dependents:
            shared = [c for c in checks if columns_of(c.expression) != {physical}]
            needing += [u.name for u in keys] + [c.name for c in shared]
            needing += [k.name for k in references] + [i.name for i in indexes]
        if physical in self.draft.key and self.drops_dependents:
            drop_key(self.table, self.draft, node)
            self.rekeyed = True
        if physical in self.draft.key:
            needing = [self.draft.key_name or "the primary key"]
        if needing and (physical in self.draft.key or not node.args.get("cascade")):
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f'column "{name}" of {self.table.name} cannot be dropped: {needing[0]} needs it',
                advice="use CASCADE to drop constraints and indexes too; DROP CONSTRAINT"
                " drops the primary key",
                position=position_of(node),
            )
        self.draft.uniques = [u for u in self.draft.uniques if u not in keys]
        self.draft.checks = [c for c in self.draft.checks if c not in checks]
        self.draft.foreign_keys = [k for k in self.draft.foreign_keys if k not in references]
        self.draft.indexes = [i for i in self.draft.indexes if i not in indexes]
        self.draft.triggers = [t for t in self.draft.triggers if t not in triggers]
        del self.draft.columns[index]
        self.forget_physical(physical)

    def rename_column(self, old: str, new: str, node: exp.Expr) -> None:
        """RENAME COLUMN: the physical name stays."""
        index = self.column_index(old, node)
        kept = self.draft.columns.pop(index)
        self.draft.check_new_column(new, node, self.draft.column_names())
        self.draft.columns.insert(index, replace(kept, name=new))
        self.draft.triggers = trigger_columns.with_renamed(self.draft.triggers, kept.name, new)

    def change_type(
        self, name: str, kind: exp.Expr, using: exp.Expr | None, node: exp.Expr
    ) -> None:
        """ALTER TYPE: by a cast that all present values survive, or by an expression.

        Rows keep the values they were written with unless the cast depends on more than these.
        """
        index = self.column_index(name, node)
        trigger_columns.check_retyped(self.draft.triggers, self.draft.columns[index], node)
        wanted = type_text(kind)
        stored = self.draft.columns[index]
        # What was SERIAL keeps its default, of whatever width it is now.
        spelled = SPELLED_SERIAL if stored.spelled == SPELLED_SERIAL else kind.meta.get(SPELLED)
        self.replace_column(index, declared=kind.meta.get(DECLARED), spelled=spelled)
        stored = self.draft.columns[index]
        for condition, shown in _checks_of(kind, self.table, name):
            self.draft.add_check(condition, shown)
            self._concern_check(self.draft.checks[-1].expression)
        domain = kind.meta.get(OF_DOMAIN)
        if domain is not None and domain.not_null:
            self.set_not_null(name, required=True, node=node)
            stored = self.draft.columns[index]
        if using is not None and is_cast_of(using, stored.name, wanted):
            using = None
        if wanted == stored.type and using is None:
            return
        what = f'the type of "{name}" cannot be changed'
        check_free(self.draft.columns, stored.physical, what)
        if stored.generated is not None:
            raise self._refusal(f"{what}: it is generated", "create the table anew", node)
        types = (wanted, stored.type, *stored.earlier_types)
        stays_whole = are_whole(*types) or are_texts(*types)
        if stored.physical in self.draft.key and not (stays_whole and using is None):
            self.uniques.append(loosen_key(self.table, self.draft, node))
            self.rekeyed = True
        known_type = wanted in stored.earlier_types or wanted == stored.type
        keeps_values = stays_whole or not (known_type or _by_zone(stored.type, wanted))
        if using is None and keeps_values:
            earlier = (*(k for k in stored.earlier_types if k != wanted), stored.type)
            self.replace_column(index, type=wanted, earlier_types=earlier)
            before = self.values.get(stored.physical, column(stored.physical, "t"))
            self.values[stored.physical] = cast(before.copy(), wanted)
            self.concerned.add(stored.physical)
            return
        physical = self.draft.new_physical(stored.name)
        given = () if using is None else [c for c in self.table.columns if c.name != stored.name]
        value = self._over_old_row(using or exp.column(stored.name, quoted=True), given, node)
        self.replace_column(index, type=wanted, physical=physical, initial=None, earlier_types=())
        self.forget_physical(stored.physical)
        self.rename_physical(stored.physical, physical)
        self.values[physical] = cast(exp.paren(value), wanted)
        self.rewritten.add(physical)
        self.concerned.add(physical)

    def change_fields(self, name: str, change: FieldChange) -> None:
        """ADD, DROP and RENAME of a field: the column's type, values and default change with it."""
        index = self.column_index(name, change.node)
        stored = self.draft.columns[index]
        kind = exp.DataType.build(stored.type, dialect="duckdb")
        wanted = change.type(kind)
        if wanted == kind:
            return
        default = stored.default
        self.replace_column(index, default=None)
        value = change.value(kind, exp.column(stored.name, quoted=True))
        self.change_type(name, wanted, value, change.node)
        if default is not None:
            given = change.default(kind, cast(stored_expression(default), stored.type))
            self.set_default(name, given, change.node)

    def set_default(self, name: str, value: exp.Expr | None, node: exp.Expr) -> None:
        """SET DEFAULT, DROP DEFAULT: for rows to come."""
        index = self.column_index(name, node)
        stored = self.draft.columns[index]
        if stored.identity is not None or stored.generated is not None:
            raise self._refusal(
                f'column "{name}" has generated values', "leave its default alone", node
            )
        typed = None if value is None else typed_constant(value, stored.type)
        text = None if typed is None else default_text(typed, f'the DEFAULT of "{name}"')
        self.replace_column(index, default=text)

    def set_not_null(self, name: str, *, required: bool, node: exp.Expr) -> None:
        """SET NOT NULL, DROP NOT NULL."""
        index = self.column_index(name, node)
        stored = self.draft.columns[index]
        primary = {p for u in self.draft.uniques if u.primary for p in u.columns}
        if not required and stored.physical in {*self.draft.key, *primary}:
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f'column "{name}" is in the primary key, so it cannot be NULL',
                advice="leave it NOT NULL",
                position=position_of(node),
            )
        self.replace_column(index, not_null=required)
        if required:
            self.concerned.add(stored.physical)

    def set_comment(self, name: str, text: str | None, node: exp.Expr) -> None:
        """A column's comment."""
        self.replace_column(self.column_index(name, node), comment=text or None)

    def add_constraint(
        self, node: exp.Expr, name: str | None = None, *, checks_rows: bool = True
    ) -> None:
        """ADD CONSTRAINT: the rows there are must keep it, unless it is NOT VALID.

        Keys always check them: as in PostgreSQL, only checks and foreign keys can be NOT VALID.
        """
        uniques, checks = len(self.draft.uniques), len(self.draft.checks)
        wanted = len(self.draft.wanted)
        had_key = bool(self.draft.key)
        self.draft.add_constraint(node, name)
        if not checks_rows:
            if len(self.draft.uniques) > uniques or bool(self.draft.key) != had_key:
                raise self._refusal("a key that is NOT VALID", "leave NOT VALID out", node)
            self.unchecked |= set(range(wanted, len(self.draft.wanted)))
            return
        if self.draft.key and not had_key:
            add_late_key(self.draft, node)
        self.uniques += self.draft.uniques[uniques:]
        self.concerned |= {p for u in self.draft.uniques[uniques:] for p in u.columns}
        for check in self.draft.checks[checks:]:
            self._concern_check(check.expression)

    def validate(self, name: str, node: exp.Expr) -> None:
        """VALIDATE CONSTRAINT: check the rows there are."""
        check = next((c for c in self.draft.checks if fold(c.name) == fold(name)), None)
        key = next((k for k in self.draft.foreign_keys if fold(k.name) == fold(name)), None)
        if check is not None:
            self._concern_check(check.expression)
        elif key is not None:
            self.validated.add(key.name)
        elif not any(fold(u.name) == fold(name) for u in self.draft.uniques):
            raise self.no_constraint(name, node)

    def keys_to_check(self, new: Table) -> list[ForeignKey]:
        """The foreign keys of the new definition whose parents the rows there are must have."""
        known = {replace(key, deferral=Deferral.NEVER) for key in self.table.foreign_keys}
        first = len(self.draft.foreign_keys)
        found: list[ForeignKey] = []
        for place, key in enumerate(new.foreign_keys):
            is_known = replace(key, deferral=Deferral.NEVER) in known or key.name in self.renamed
            if key.name in self.validated or not (is_known or place - first in self.unchecked):
                found.append(key)
        return found

    def defer(self, name: str, deferral: Deferral, node: exp.Expr) -> None:
        """ALTER CONSTRAINT .. DEFERRABLE: of a foreign key."""
        for index, key in enumerate(self.draft.foreign_keys):
            if fold(key.name) == fold(name):
                self.draft.foreign_keys[index] = replace(key, deferral=deferral)
                return
        if any(fold(k.name) == fold(name) for k in self.draft.constraints):
            raise self._refusal(f'"{name}" that is deferrable', "only a foreign key can be", node)
        raise self.no_constraint(name, node)

    @property
    def _key_name(self) -> str:
        return self.draft.key_name or f"{self.table.name.name}_pkey"

    def no_constraint(self, name: str, node: exp.Expr) -> PalimpsestError:
        """What says that there is no constraint of that name."""
        names = [self._key_name] if self.draft.key else []
        names += [k.name for k in self.draft.constraints]
        return PalimpsestError(
            Code.INVALID_DEFINITION,
            f'{self.table.name} has no constraint "{name}"',
            advice=f"its constraints are {', '.join(names)}" if names else "the table has none",
            position=position_of(node),
        )

    def drop_constraint(self, name: str, node: exp.Expr, *, exists: bool) -> None:
        """DROP CONSTRAINT."""
        if self.draft.key and fold(name) == fold(self._key_name):
            drop_key(self.table, self.draft, node)
            self.rekeyed = True
            return
        kept = [u for u in self.draft.uniques if fold(u.name) != fold(name)]
        checks = [c for c in self.draft.checks if fold(c.name) != fold(name)]
        references = [k for k in self.draft.foreign_keys if fold(k.name) != fold(name)]
        found = len(kept) + len(checks) + len(references) < len(self.draft.constraints)
        if not found and not exists:
            raise self.no_constraint(name, node)
        self.draft.uniques, self.draft.checks = kept, checks
        self.draft.foreign_keys = references
        self.uniques = [u for u in self.uniques if u in kept]

    def replace_column(self, index: int, **changes: object) -> None:
        """Change what is said of the column at a place."""
        self.draft.columns[index] = replace(self.draft.columns[index], **changes)  # type: ignore[arg-type]

    def forget_physical(self, physical: str) -> None:
        """Write and check no values of a physical column."""
        self.values.pop(physical, None)
        self.rewritten.discard(physical)
        self.concerned.discard(physical)

    def rename_physical(self, old: str, new: str) -> None:
        """Let keys, indexes and checks name another physical column."""

        def renamed(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(new if n == old else n for n in names)

        self.draft.uniques = [replace(u, columns=renamed(u.columns)) for u in self.draft.uniques]
        self.uniques = [replace(u, columns=renamed(u.columns)) for u in self.uniques]
        self.uniques += [
            u for u in self.draft.uniques if new in u.columns and u not in self.uniques
        ]
        self.draft.indexes = [renamed_columns(i, {old: new}) for i in self.draft.indexes]
        self.draft.triggers = trigger_columns.with_physical(self.draft.triggers, old, new)
        for index, check in enumerate(self.draft.checks):
            condition = dialects.stored(check.expression)
            for used in condition.find_all(exp.Column):
                if used.name == old:
                    used.set("this", exp.to_identifier(new, quoted=True))
            self.draft.checks[index] = replace(check, expression=canonical_text(condition))

    def _concern_check(self, expression: str) -> None:
        self.concerned |= columns_of(expression)

    def _over_old_row(self, using: exp.Expr, given: Sequence[Column], node: exp.Expr) -> exp.Expr:
        """An expression over rows as stored; ``given`` columns mean what they were before."""
        value = using.copy()
        for part in value.find_all(exp.Query):
            raise self._refusal(
                "USING takes no subquery", "compute it from the row's columns", part
            )
        root = exp.paren(value)
        check_functions(root, sequences=True)
        for used in [c for c in root.find_all(exp.Column) if not is_variable(c)]:
            names = {fold(c.name) for c in (*given, *self.draft.columns)}
            name, *fields = column_path(used, self.table.name, names) or [used.name]
            old = next((c for c in given if fold(c.name) == fold(name)), None)
            stored = old or self.draft.columns[self.column_index(name, node)]
            known = None if old is not None else self.values.get(stored.physical)
            value = known.copy() if known is not None else column(stored.physical, "t")
            used.replace(with_fields(value, fields))
        return root

    def _refusal(self, message: str, advice: str, node: exp.Expr) -> PalimpsestError:
        return PalimpsestError(
            Code.NOT_SUPPORTED, message, advice=advice, position=position_of(node)
        )


def _checks_of(kind: exp.Expr, table: Table, column: str) -> list[tuple[exp.Expr, str | None]]:
    """The checks of a type that is a domain."""
    domain = kind.meta.get(OF_DOMAIN)
    return [] if domain is None else domain_checks(domain, table.name, column)


def _by_zone(old: str, new: str) -> bool:
    """True if a cast may depend on the session's time zone: it is then done once and for all."""
    return any(has_zone(exp.DataType.build(kind, dialect="duckdb")) for kind in (old, new))


def _is_plain(default: exp.Expr) -> bool:
    return all(isinstance(part, _PLAIN) for part in default.walk())
