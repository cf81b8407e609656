"""Logical tables, columns and keys as immutable values, and the snapshot of all of them.

Types and expressions are SQL text in the canonical dialect (DuckDB's, as sqlglot prints it). Names
compare without regard to case, as in the embedded store. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from journal.model.access import AccessControl, ObjectKey, ObjectKind, Rights
from journal.model.foreign_key import ForeignKey
from journal.model.identity import Identity as Identity
from journal.model.lazy_dataclass import dataclass
from journal.model.materialized import Materialized as Materialized
from journal.model.named_definitions import Definition, DefinitionKey, UserType, definition_key
from journal.model.policy_scope import ScopedPolicy, ScopeKey, ScopeKind
from journal.model.sequence import Sequence as Sequence
from journal.model.table_index import Index as Index
from journal.model.table_name import TableName as TableName
from journal.model.table_name import fold as fold
from journal.model.triggers import Trigger
from journal.model.version import VersionType
from journal.model.view import View as View

DEFAULT_SCHEMA = "main"
DATABASE = "palimpsest"
"""What the database of all schemas is called where a store has no name for it."""
OWN_SCHEMA = "temp"
"""Where a session's temporary relations are, in stores that have them."""
ON_COMMIT = "on_commit"
"""The property of a temporary table that says what a commit does; without it nothing."""
DROP, DELETE_ROWS = "drop", "delete rows"
ROW_ID = "_row_id"
"""Physical name of the hidden key of tables that declare none."""


SPELLED_SERIAL = "serial"
"""What a column's type is ``spelled`` that was declared SERIAL, of any width."""


@dataclass(frozen=True, slots=True)
class Column:
    """A business column.

    ``physical`` is its name in the journal and never changes; ``name`` is what clients see.
    ``initial`` is the value (SQL text) that rows written before the column existed show.
    ``earlier_types`` are the types it had before, oldest first; no type comes twice.
    ``declared`` is its type as it was declared, where that names a type of the user's.
    ``collation`` (SQL text) is how its texts are compared and ordered, if not by their bytes.
    ``spelled`` is what PostgreSQL calls its type, where other types are kept as the same one.
    """

    name: str
    physical: str
    type: str
    not_null: bool = False
    default: str | None = None
    identity: Identity | None = None
    initial: str | None = None
    comment: str | None = None
    generated: str | None = None
    earlier_types: tuple[str, ...] = ()
    declared: str | None = None
    collation: str | None = None
    spelled: str | None = None


@dataclass(frozen=True, slots=True)
class Unique:
    """A UNIQUE constraint over physical column names.

    ``primary`` marks a primary key that was added later: its rows keep their hidden key.
    """

    name: str
    columns: tuple[str, ...]
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint; the expression names physical columns."""

    name: str
    expression: str


Constraint = Unique | Check | ForeignKey
"""What has a name of its own in a table; the primary key apart."""


@dataclass(frozen=True, slots=True)
class JournalFormat:
    """Names and types of a journal's own columns (configurable per store and table)."""

    suffix: str = "_journal"
    version_column: str = "version_number"
    subsequent_column: str = "subsequent_version_number"
    version_type: VersionType = VersionType.TIMESTAMP


@dataclass(frozen=True, slots=True)
class Table:
    """A logical table. ``key`` holds physical names; without a declared key it is the row id.
    ``layout`` changes with the set of stored columns or their types, and is never used again, so
    that rows written under any layout can be read under any other. ``physical_names``: all that the
    table ever had. ``materialized``: what a materialised view is made of. ``constraint_comments``:
    folded names of constraints, the key too, and what is said of them. ``triggers`` fire in the
    order of their names. ``calls``: expressions in it, each with a macro that it calls.
    """

    id: int
    name: TableName
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    key_name: str | None = None
    uniques: tuple[Unique, ...] = ()
    checks: tuple[Check, ...] = ()
    format: JournalFormat = field(default_factory=JournalFormat)
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    physical_names: tuple[str, ...] = ()
    layout: int = 0
    foreign_keys: tuple[ForeignKey, ...] = ()
    indexes: tuple[Index, ...] = ()
    materialized: Materialized | None = None
    constraint_comments: tuple[tuple[str, str], ...] = ()
    triggers: tuple[Trigger, ...] = ()
    calls: tuple[tuple[str, DefinitionKey], ...] = ()

    @property
    def hidden_key(self) -> bool:
        """True for a table that declared no key."""
        return self.key == (ROW_ID,)

    @property
    def journal_name(self) -> TableName:
        """The name under which the journal itself can be read."""
        return TableName(self.name.schema, self.name.name + self.format.suffix)

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of a journal row without its version columns: business ones, then row id."""
        if self.hidden_key:
            return (*self.columns, Column(ROW_ID, ROW_ID, "BIGINT", not_null=True))
        return self.columns

    @property
    def ends(self) -> tuple[str, str]:
        """The columns of a journal row that say when its version begins, and when it ends."""
        return self.format.version_column, self.format.subsequent_column

    @property
    def journal_columns(self) -> tuple[str, ...]:
        """The physical names of all columns of a journal row, in stored order."""
        return (*(c.physical for c in self.stored), *self.ends)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints but the primary key."""
        return (*self.uniques, *self.checks, *self.foreign_keys)

    @property
    def unique_indexes(self) -> tuple[Index, ...]:
        """The indexes that allow no values twice."""
        return tuple(index for index in self.indexes if index.unique)

    @property
    def unique_columns(self) -> frozenset[str]:
        """The physical columns that decide which rows may stand beside each other."""
        found = frozenset(self.key).union(*(unique.columns for unique in self.uniques))
        return found.union(*(index.columns for index in self.unique_indexes))

    def has_unique(self, columns: Iterable[str]) -> bool:
        """True if just these physical columns are a key: primary, UNIQUE, or a unique index's.

        An index over expressions or a part of the rows is none.
        """
        whole = [i for i in self.unique_indexes if i.predicate is None]
        indexes = [i.columns for i in whole if all(t.is_column for t in i.terms)]
        keys = (self.key, *(u.columns for u in self.uniques), *indexes)
        return any(set(key) == set(columns) for key in keys)

    def find(self, name: str) -> Column | None:
        """The column of that logical name, or None."""
        wanted = fold(name)
        return next((c for c in self.columns if fold(c.name) == wanted), None)

    def by_physical(self, physical: str) -> Column:
        """The stored column of that physical name."""
        return next(c for c in self.stored if c.physical == physical)


Relation = Table | View


def relation_key(found: Relation) -> ObjectKey:
    """Under which key the access of a table or view is known."""
    if isinstance(found, Table):
        return ObjectKey(ObjectKind.TABLE, found.id)
    schema, name = found.name.key
    return ObjectKey(ObjectKind.VIEW, 0, schema, name)


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key between the two tables that it is about, which may be one and the same."""

    child: Table
    key: ForeignKey
    parent: Table


References = Mapping[int, tuple[Reference, ...]]
"""Foreign keys by the id of a table: those it has and those that point at it, each once."""


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """All schemas, tables and views at one moment; the rewriter's whole view of the world.

    ``home`` is the schema of names without one, which every store has from the beginning.
    ``own`` is the schema of the relations that one session alone sees; None in stores without.
    ``database`` is what all schemas together are called.
    ``definitions`` are types and macros, by kind, schema and name; ``access`` who may do what.
    ``schema_comments`` are by folded name, ``comment`` is the database's. ``policies`` are those
    of wider scopes than a table.
    """

    generation: int
    schemas: Mapping[str, str]
    relations: Mapping[tuple[str, str], Relation]
    home: str = DEFAULT_SCHEMA
    own: str | None = None
    database: str = DATABASE
    sequences: Mapping[tuple[str, str], Sequence] = field(
        default_factory=lambda: MappingProxyType({})
    )
    definitions: Mapping[tuple[str, str, str], Definition] = field(
        default_factory=lambda: MappingProxyType({})
    )
    access: AccessControl = field(default_factory=AccessControl)
    schema_comments: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    policies: Mapping[ScopeKey, ScopedPolicy] = field(default_factory=lambda: MappingProxyType({}))
    comment: str | None = None
    _once: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was found in it, which stays as it is."""

    @staticmethod
    def empty(
        home: str = DEFAULT_SCHEMA, own: str | None = None, database: str = DATABASE
    ) -> CatalogSnapshot:
        """A catalog with the default schema of its store and nothing in it."""
        schemas: Mapping[str, str] = MappingProxyType({home: home})
        return CatalogSnapshot(0, schemas, MappingProxyType({}), home, own, database)

    def is_own(self, name: TableName) -> bool:
        """True for the name of a temporary relation, be it there or not."""
        return self.own is not None and name.key[0] == self.own

    def own_sequences(self) -> Mapping[tuple[str, str], Sequence]:
        """The temporary sequences of the session that looks."""
        return {key: s for key, s in self.sequences.items() if key[0] == self.own}

    def own_definitions(self) -> Mapping[tuple[str, str, str], Definition]:
        """The temporary types and macros of the session that looks."""
        return {key: d for key, d in self.definitions.items() if key[1] == self.own}

    def own_relations(self) -> Mapping[tuple[str, str], Relation]:
        """The temporary relations of the session that looks."""
        if self.own is None:
            return {}
        return {key: r for key, r in self.relations.items() if key[0] == self.own}

    def own_ids(self) -> frozenset[int]:
        """The ids of the temporary tables and sequences of the session that looks, found once."""
        if "own ids" not in self._once:
            tables = {r.id for r in self.own_relations().values() if isinstance(r, Table)}
            numbers = {s.id for s in self.own_sequences().values()}
            self._once["own ids"] = frozenset(tables | numbers)
        return frozenset(self._once["own ids"])

    def with_own(
        self,
        found: Mapping[tuple[str, str], Relation],
        sequences: Mapping[tuple[str, str], Sequence],
        definitions: Mapping[tuple[str, str, str], Definition],
    ) -> CatalogSnapshot:
        """A copy that holds these temporary relations, sequences and definitions besides."""
        if not found and not sequences and not definitions:
            return self
        return replace(
            self,
            relations=MappingProxyType({**self.relations, **found}),
            sequences=MappingProxyType({**self.sequences, **sequences}),
            definitions=MappingProxyType({**self.definitions, **definitions}),
        )

    def get(self, name: TableName) -> Relation | None:
        """The table or view of that name, or None."""
        return self.relations.get(name.key)

    def by_journal(self, name: TableName) -> Table | None:
        """The table whose journal has that name, or None; of several the first."""
        if "by journal" not in self._once:
            self._once["by journal"] = {t.journal_name.key: t for t in reversed([*self.tables()])}
        found: Table | None = self._once["by journal"].get(name.key)
        return found

    def by_id(self, table_id: int) -> Table | None:
        """The table of that id, or None; each statement asks several times."""
        if "by id" not in self._once:
            self._once["by id"] = {t.id: t for t in self.tables()}
        found: Table | None = self._once["by id"].get(table_id)
        return found

    def index(self, name: TableName) -> tuple[Table, Index] | None:
        """The index of that name, and its table; or None."""
        for table in self.tables():
            if fold(table.name.schema) == name.key[0]:
                for found in table.indexes:
                    if fold(found.name) == name.key[1]:
                        return table, found
        return None

    @property
    def references(self) -> References:
        """The foreign keys of the catalog, found once; a parent that is gone has none."""
        if "references" not in self._once:
            self._once["references"] = _references_of(list(self.tables()))
        found: References = self._once["references"]
        return found

    def tables(self) -> Iterator[Table]:
        """Every table."""
        return (r for r in self.relations.values() if isinstance(r, Table))

    def views(self) -> Iterator[View]:
        """Every view."""
        return (r for r in self.relations.values() if isinstance(r, View))

    def with_relation(
        self, relation: Relation, *, instead_of: TableName | None = None
    ) -> CatalogSnapshot:
        """A copy with ``relation`` added, or put in the place of another name."""
        relations = dict(self.relations)
        if instead_of is not None:
            relations.pop(instead_of.key, None)
        relations[relation.name.key] = relation
        return replace(self, generation=self.generation + 1, relations=MappingProxyType(relations))

    def without_relation(self, name: TableName) -> CatalogSnapshot:
        """A copy that lacks the table or view."""
        relations = {k: v for k, v in self.relations.items() if k != name.key}
        return replace(self, generation=self.generation + 1, relations=MappingProxyType(relations))

    def with_sequence(
        self, sequence: Sequence, *, instead_of: TableName | None = None
    ) -> CatalogSnapshot:
        """A copy with ``sequence`` added, or put in the place of another name."""
        sequences = dict(self.sequences)
        if instead_of is not None:
            sequences.pop(instead_of.key, None)
        sequences[sequence.name.key] = sequence
        return replace(self, generation=self.generation + 1, sequences=MappingProxyType(sequences))

    def without_sequence(self, name: TableName) -> CatalogSnapshot:
        """A copy that lacks the sequence."""
        sequences = {k: s for k, s in self.sequences.items() if k != name.key}
        return replace(self, generation=self.generation + 1, sequences=MappingProxyType(sequences))

    def with_definition(self, found: Definition, gone: Definition | None = None) -> CatalogSnapshot:
        """A copy with a definition added, or put in the place of one that goes."""
        definitions = dict(self.definitions)
        if gone is not None:
            definitions.pop(definition_key(gone), None)
        definitions[definition_key(found)] = found
        known = MappingProxyType(definitions)
        return replace(self, generation=self.generation + 1, definitions=known)

    def without_definition(self, gone: tuple[str, str, str]) -> CatalogSnapshot:
        """A copy that lacks a definition."""
        known = MappingProxyType({k: d for k, d in self.definitions.items() if k != gone})
        return replace(self, generation=self.generation + 1, definitions=known)

    def user_types(self) -> Iterator[UserType]:
        """Every type of a user's."""
        return (d for d in self.definitions.values() if isinstance(d, UserType))

    def rights_of(self, role: int | None) -> Rights:
        """What a role may do; None is nobody's session, which may do everything."""
        return Rights(self.access, role, fold(self.home))

    def with_access(self, access: AccessControl) -> CatalogSnapshot:
        """A copy in which others may do what ``access`` says."""
        return replace(self, generation=self.generation + 1, access=access)

    def with_policy(self, policy: ScopedPolicy) -> CatalogSnapshot:
        """A copy in which a scope states something else; one without properties nothing."""
        policies = {k: p for k, p in self.policies.items() if k != policy.key}
        if policy.properties:
            policies[policy.key] = policy
        number = self.generation + 1
        return replace(self, generation=number, policies=MappingProxyType(policies))

    def with_comment(self, comment: str | None) -> CatalogSnapshot:
        """A copy with another comment on the database."""
        return replace(self, generation=self.generation + 1, comment=comment)

    def with_schema(self, schema: str, comment: str | None = None) -> CatalogSnapshot:
        """A copy with one more schema, or another comment on one."""
        return self._with_all({**self.schemas, fold(schema): schema}, {fold(schema): comment})

    def without_schema(self, schema: str) -> CatalogSnapshot:
        """A copy that lacks the schema."""
        schemas = {k: v for k, v in self.schemas.items() if k != fold(schema)}
        left = self.with_policy(ScopedPolicy(ScopeKind.SCHEMA, schema, ()))
        return left._with_all(schemas, {fold(schema): None})

    def _with_all(self, schemas: dict[str, str], said: dict[str, str | None]) -> CatalogSnapshot:
        every = {**self.schema_comments, **said}
        comments = MappingProxyType({k: v for k, v in every.items() if v is not None})
        kept, number = MappingProxyType(schemas), self.generation + 1
        return replace(self, generation=number, schemas=kept, schema_comments=comments)


def _references_of(tables: list[Table]) -> References:
    by_id = {t.id: t for t in tables}
    found: dict[int, tuple[Reference, ...]] = {}
    for child in tables:
        for key in child.foreign_keys:
            if (parent := by_id.get(key.parent)) is None:
                continue
            reference = Reference(child, key, parent)
            for table_id in {child.id, parent.id}:
                found[table_id] = (*found.get(table_id, ()), reference)
    return found
