"""Checks what a query reads against the role's privileges.

Views are read with the rights of their owners. The past of a table takes HISTORY and the whole of
its columns. Raises UNKNOWN_TABLE for what the role has no privilege on, PRIVILEGE for what it has
some other privilege on. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace

from sqlglot import exp

from journal.model.access import DATABASE_KEY, ObjectKey, ObjectKind, Privilege, Rights
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PointRequest
from journal.model.schema import (
    CatalogSnapshot,
    Relation,
    Table,
    TableName,
    View,
    fold,
    relation_key,
)
from journal.model.visibility import visible_to
from journal.sql import dialects
from journal.sql.cte_scopes import CteScopes, is_cte
from rewriter.access.known_functions import KNOWN_FUNCTIONS
from rewriter.access.system_relations import privileges_to_read
from rewriter.access.used_columns import holder_of, used_columns
from rewriter.context import RewriteContext
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.policy_sources import outer_queries, policy_queries
from rewriter.definitions.sequences import find_sequence, sequence_calls, unknown_sequence
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import (
    CATALOG_FUNCTIONS,
    FILE_FUNCTIONS,
    SEQUENCE_FUNCTIONS,
    TABLE_FUNCTIONS,
    TABLE_INFO,
    function_name,
)
from rewriter.name_resolution import SYSTEM_SCHEMAS, position_of, table_name, unknown_table
from rewriter.reading.catalog_functions import catalog_name
from rewriter.reading.described import shows_tables
from rewriter.reading.materialized import holds_its_rows, view_of
from rewriter.reading.past.time_travel import (
    HISTORY_FUNCTIONS,
    clause_of,
    history_call,
    session_point,
)
from rewriter.reading.past.version_columns import version_column_names
from rewriter.reading.postgres.dialect import POSTGRES_FUNCTIONS
from rewriter.reading.scopes import is_named
from rewriter.reading.sources import file_function

_VIEW_DEPTH_MAX = 32
_ALIAS_OF_SEQUENCE = {
    "nextval": (Privilege.USAGE, Privilege.UPDATE),
    "currval": (Privilege.USAGE, Privilege.SELECT),
    "setval": (Privilege.UPDATE,),
}


_CALLABLE = (
    KNOWN_FUNCTIONS
    | SEQUENCE_FUNCTIONS
    | POSTGRES_FUNCTIONS
    | frozenset(TABLE_FUNCTIONS)
    | frozenset({*HISTORY_FUNCTIONS, *CATALOG_FUNCTIONS, TABLE_INFO})
)
"""Functions by name that a role may call; those of files are looked at by themselves."""


@dataclass(slots=True)
class ReadCheck:
    """Goes through what a statement reads; ``tables`` are the ids of all tables it came by."""

    context: RewriteContext
    rights: Rights
    tables: set[int] = field(default_factory=set)
    _is_past: bool = False
    _depth: int = 0
    _present: RewriteContext | None = None
    """What policies read, where ``context`` is that of an earlier moment; None: the same."""
    _governed: frozenset[int] = frozenset()
    """Tables whose policies are being looked at."""

    def check(self, tree: exp.Expr, skipped: Collection[int] = ()) -> None:
        """Check each source in a tree, but the nodes whose ids are ``skipped``."""
        for call in tree.find_all(exp.Func):
            self._check_function(call)
        self._check_sources(tree, skipped)
        for call in sequence_calls(tree):
            self._check_sequence(call)

    def check_policy_queries(self, condition: exp.Expr) -> None:
        """Check what the queries of a row policy read, which a client is about to define."""
        for query in outer_queries(condition):
            self._check_sources(query)

    def _check_sources(self, tree: exp.Expr, skipped: Collection[int] = ()) -> None:
        scopes = CteScopes()
        for node in list(tree.find_all(exp.Table)):
            if id(node) in skipped or (is_named(node) and scopes.holds(node)):
                continue
            if is_named(node):
                self._check_source(node)
            elif not node.args.get("rows_from"):  # Its calls are sources of their own.
                self._check_call(node)

    def _check_source(self, node: exp.Table) -> None:
        name = table_name(node, self.context)
        if fold(name.schema) in SYSTEM_SCHEMAS:
            self._check_system(name)
            return
        clause = clause_of(node)
        points = () if clause is None else clause.points
        catalog = self.catalog_at(points[-1] if points else None)
        found = catalog.get(name) or self._present_view(name, catalog)
        if found is None:
            journal = catalog.by_journal(name)
            if journal is not None:
                self.check_past(journal, node)
                return
            if catalog_name(node) is not None or shows_tables(node.parent, self.context):
                return  # It lists what the role sees.
            if file_function(node) is not None:
                self._refuse_file(node)
            raise self.unknown(name, node)
        past = self._is_past or clause is not None or catalog is not self.context.catalog
        if past:
            self.check_past(found, node)
        else:
            self.check_columns(found, node, node, Privilege.SELECT)
        if isinstance(found, View):
            self._check_view(found, node, catalog)
        elif not holds_its_rows(found, self.context, past=past):
            self.check_query(found, node, catalog)

    def _present_view(self, name: TableName, catalog: CatalogSnapshot) -> View | None:
        """A view that was not there yet is read as it is now."""
        found = None if catalog is self.context.catalog else self.context.catalog.get(name)
        return found if isinstance(found, View) else None

    def catalog_at(self, point: PointRequest | None = None) -> CatalogSnapshot:
        """The catalog of a point in time, or of that which the session reads at."""
        if point is not None:
            return self.context.times(point).catalog
        if self.context.as_of is not None:
            found = session_point(self.context.as_of, DIALECTS[self.context.dialect])
            return self.context.times(found).catalog
        return self.context.catalog

    def check_columns(
        self,
        found: Relation,
        node: exp.Table,
        at: exp.Expr,
        privilege: Privilege,
        written: Collection[int] = (),
    ) -> None:
        """Check that the columns which a statement reads of a source may be read."""
        key = self.enter(found, at)
        self.check_policies(found, at)
        if self.context.catalog.is_own(found.name) or self.rights.may(key, privilege):
            return
        granted = self.rights.columns(key, privilege)
        if granted:
            used = used_columns(
                holder_of(node), node.alias_or_name, column_names(found), self.names_of, written
            )
            if {column_of(found, n) for n in every_column(found, used)} <= granted:
                return
        raise self.refused(found, privilege, at)

    def check_claims(self, query: exp.Expr) -> None:
        """Check that rows which a query locks may be changed: some column of theirs at least."""
        if not query.args.get("locks"):
            return
        for node in query.find_all(exp.Table):
            if not is_named(node) or is_cte(node):
                continue
            found = self.context.catalog.get(table_name(node, self.context))
            if found is None or self.context.catalog.is_own(found.name):
                continue
            key = self.enter(found, node)
            wanted = Privilege.UPDATE
            if not self.rights.may(key, wanted) and not self.rights.columns(key, wanted):
                raise self.refused(found, wanted, node)

    def enter(self, found: Relation, at: exp.Expr) -> ObjectKey:
        """Note that a statement comes by a relation; raises where its schema may not be used."""
        if isinstance(found, Table):
            self.tables.add(found.id)
        key = relation_key(found)
        if self.context.catalog.is_own(found.name):
            return key
        schema = ObjectKey(ObjectKind.SCHEMA, 0, fold(found.name.schema))
        if not self.rights.sees(key):
            raise self.unknown(found.name, at)
        if not self.rights.may(schema, Privilege.USAGE):
            raise self._denied(f"for schema {found.name.schema}", "it takes USAGE on it", at)
        return key

    def check_past(self, found: Relation, at: exp.Expr) -> None:
        """Check that earlier versions of a relation may be read."""
        key = self.enter(found, at)
        for privilege in (Privilege.SELECT, Privilege.HISTORY):
            if not self.rights.may(key, privilege):
                raise self.refused(found, privilege, at)
        self.check_policies(found, at)

    def check_policies(self, found: Relation, at: exp.Expr, *, writes: bool = False) -> None:
        """Check what the row policy reads that the client sees a table under, or ``writes`` it.

        It is read with the rights that the table is read with, so in a view with its owner's.
        """
        present = self._present or self.context
        if not isinstance(found, Table) or present.role is None or found.id in self._governed:
            return  # The rewriter refuses a policy that comes back to its own table.
        inner = ReadCheck(replace(present, as_of=None), self.rights, self.tables)
        inner._depth, inner._governed = self._depth, self._governed | {found.id}
        try:
            for query in policy_queries(relation_key(found), present, writes=writes):
                if self.rights.is_admin:
                    inner.note(query)
                else:
                    inner._check_sources(query)
        except PalimpsestError as error:
            if error.code not in {Code.UNKNOWN_TABLE, Code.PRIVILEGE}:
                raise
            raise self._denied(
                f"for table {found.name.name}: its row policy reads what the role may not read",
                "have the role granted SELECT on what the policy reads; the table's owner knows it",
                at,
            ) from None

    def check_query(self, found: Table, node: exp.Table, catalog: CatalogSnapshot) -> None:
        """Check what the query of a materialised view reads, with the rights of its owner."""
        self._check_view(view_of(found), node, catalog, relation_key(found))

    def _check_view(
        self, view: View, node: exp.Table, catalog: CatalogSnapshot, key: ObjectKey | None = None
    ) -> None:
        """Check what a view reads, with the rights of its owner."""
        if self._depth >= _VIEW_DEPTH_MAX:
            return  # The rewriter refuses it.
        query = dialects.stored(view.query)
        rights = self.rights
        if not self.context.catalog.is_own(view.name):
            owner = self.rights.access_of(key or relation_key(view)).owner
            rights = self.rights.of(owner)
        context = self.context.in_schema(view.name.schema)
        is_past = self._is_past or catalog is not self.context.catalog
        if is_past:
            context = replace(context, catalog=catalog, as_of=None)
        expand_macros(query, context)
        inner = ReadCheck(context, rights, self.tables, is_past, self._depth + 1)
        inner._present, inner._governed = self._present or self.context, self._governed
        if rights.is_admin:
            inner.note(query)
            return
        try:
            inner.check(query)
        except PalimpsestError as error:
            if error.code not in {Code.UNKNOWN_TABLE, Code.PRIVILEGE} or rights is self.rights:
                raise
            raise self._denied(
                f"for view {view.name}: its owner may not read all that it is made of",
                "have its owner granted SELECT on that",
                node,
            ) from None

    def note(self, tree: exp.Expr) -> None:
        """Note the tables that a query of somebody who may read everything comes by."""
        scopes = CteScopes()
        for node in tree.find_all(exp.Table):
            if not is_named(node) or scopes.holds(node):
                continue
            name = table_name(node, self.context)
            clause = clause_of(node)
            points = () if clause is None else clause.points
            catalog = self.catalog_at(points[-1] if points else None)
            found = catalog.get(name) or catalog.by_journal(name)
            if isinstance(found, Table):
                self.tables.add(found.id)
                self.check_policies(found, node)
                if found.materialized is not None:
                    self.tables |= set(found.materialized.sources)
                    past = self._is_past or catalog is not self.context.catalog
                    if not holds_its_rows(found, self.context, past=past):
                        self.check_query(found, node, catalog)
            elif isinstance(found, View) and self._depth < _VIEW_DEPTH_MAX:
                self._check_view(found, node, catalog)
        for call in tree.find_all(exp.Anonymous):
            if function_name(call) in HISTORY_FUNCTIONS:
                self._note_history(call)

    def _note_history(self, call: exp.Anonymous) -> Relation | None:
        named = history_call(call)
        name = table_name(named.table, self.context)
        found = self.catalog_at(named.points[-1] if named.points else None).get(name)
        if isinstance(found, Table):
            self.tables.add(found.id)
            self.check_policies(found, call)
        return found

    def _check_call(self, node: exp.Table) -> None:
        name = function_name(node.this)
        if name == TABLE_INFO:
            self._check_table_info(node)
        if name not in HISTORY_FUNCTIONS:
            return  # Calls of functions are looked at wherever they stand.
        named = history_call(node.this)
        relation = table_name(named.table, self.context)
        found = self.catalog_at(named.points[-1] if named.points else None).get(relation)
        if found is None:
            raise self.unknown(relation, node)
        self.check_past(found, node)

    def _check_table_info(self, node: exp.Table) -> None:
        first = next(iter(node.this.expressions), None)
        if isinstance(first, exp.Literal):
            name = table_name(exp.to_table(first.name, dialect="duckdb"), self.context)
            found = self.context.catalog.get(name)
            if found is None:
                raise self.unknown(name, node)
            self.enter(found, node)

    def _check_function(self, call: exp.Func) -> None:
        name = function_name(call)
        if name.replace("_", "") in FILE_FUNCTIONS:
            self._refuse_file(call)
        if isinstance(call, exp.Anonymous) and name not in _CALLABLE:
            self._refuse(
                f"for function {name}",
                "roles call the functions that docs/roles.md speaks of; others take ADMIN",
                call,
            )

    def _check_sequence(self, call: exp.Anonymous) -> None:
        wanted = _ALIAS_OF_SEQUENCE.get(function_name(call))
        first = call.expressions[0] if call.expressions else None
        if wanted is None or not isinstance(first, exp.Literal):
            return
        node = exp.to_table(first.name, dialect="duckdb")
        found = find_sequence(node, self.context)
        if found is None:
            # That of an identity column, which goes with its table, or none.
            if not self.rights.is_admin:
                raise unknown_sequence(node, self.context.with_catalog(self.visible()))
            return
        if self.context.catalog.is_own(found.name):
            return
        key = ObjectKey(ObjectKind.SEQUENCE, found.id)
        if not self.rights.sees(key):
            raise unknown_sequence(node, self.context.with_catalog(self.visible()))
        if not any(self.rights.may(key, privilege) for privilege in wanted):
            advice = f"it takes {' or '.join(wanted)} on the sequence"
            self._refuse(f"for sequence {found.name.name}", advice, call)

    def _check_system(self, name: TableName) -> None:
        wanted = privileges_to_read(name.key[1]) if name.key[0] == "system" else ()
        if wanted and not any(self.rights.may(DATABASE_KEY, p) for p in wanted):
            self._refuse(
                f"for {name}, which tells of all tables",
                f"it takes {' or '.join(wanted)} ON SYSTEM",
                None,
            )

    def _refuse_file(self, node: exp.Expr) -> None:
        self._refuse(
            "to read files where the server runs",
            "it takes ADMIN; COPY .. FROM STDIN brings files of yours",
            node,
        )

    def _refuse(self, what: str, advice: str, node: exp.Expr | None) -> None:
        if not self.rights.is_admin:
            raise self._denied(what, advice, node)

    def refused(self, found: Relation, privilege: Privilege, at: exp.Expr) -> PalimpsestError:
        """The error for a relation on which the role has other privileges only."""
        kind = "table" if isinstance(found, Table) else "view"
        return self._denied(
            f"for {kind} {found.name.name}", f"it takes {privilege} on {found.name}", at
        )

    def _denied(self, what: str, advice: str, at: exp.Expr | None) -> PalimpsestError:
        return PalimpsestError(
            Code.PRIVILEGE, f"permission denied {what}", advice=advice, position=position_of(at)
        )

    def visible(self) -> CatalogSnapshot:
        """The part of the catalog that the role sees."""
        return visible_to(self.context.catalog, self.rights)

    def unknown(self, name: TableName, at: exp.Expr | None) -> PalimpsestError:
        """The error for a relation that is not there as far as the role can see."""
        return unknown_table(name, self.visible(), at)

    def names_of(self, node: exp.Table) -> frozenset[str] | None:
        if not is_named(node) or is_cte(node):
            return None
        found = self.context.catalog.get(table_name(node, self.context))
        return column_names(found) if isinstance(found, Table) else None


def column_names(found: Relation) -> frozenset[str]:
    """The folded names of a relation's columns, as far as they are known."""
    if isinstance(found, Table):
        hidden = version_column_names(found)
        return frozenset(fold(n) for n in (*(c.name for c in found.columns), *hidden))
    return frozenset(fold(n) for n in found.columns)


def every_column(found: Relation, used: frozenset[str] | None) -> frozenset[str]:
    """The columns that are used; None: all that clients see."""
    if used is not None:
        return used
    names = [c.name for c in found.columns] if isinstance(found, Table) else found.columns
    return frozenset(map(fold, names))


def column_of(found: Relation, name: str) -> str:
    """What a column is called in grants."""
    column = found.find(name) if isinstance(found, Table) else None
    return name if column is None else column.physical
