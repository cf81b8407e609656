"""Who owns what a statement changes, and where a role may make something. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.access import ObjectKey, ObjectKind, Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.policy_scope import ScopeKind
from journal.model.schema import Relation, Table, TableName, fold, relation_key
from rewriter.access.reading import ReadCheck
from rewriter.definitions.sequences import find_sequence, identity_named, unknown_sequence
from rewriter.name_resolution import SYSTEM_SCHEMAS, is_in_temp_schema, position_of, table_name


class OwnerCheck:
    """Holds names of a statement against what a role owns; ``reads`` notes the tables."""

    def __init__(self, reads: ReadCheck) -> None:
        self.reads = reads
        self._context = reads.context
        self._rights = reads.rights

    def is_system(self, node: exp.Table) -> bool:
        """True for a name in ``system`` or ``information_schema``."""
        return fold(table_name(node, self._context).schema) in SYSTEM_SCHEMAS

    def find_visible(self, node: exp.Table) -> Relation:
        """The relation that a node names, on which the role has some privilege."""
        name = table_name(node, self._context)
        found = self._context.catalog.get(name) or self._context.catalog.by_journal(name)
        if found is None:
            raise self.reads.unknown(name, node)
        self.reads.enter(found, node)
        return found

    def is_known(self, node: exp.Table) -> bool:
        """True for the name of a relation, whether the role sees it or not."""
        return self._context.catalog.get(table_name(node, self._context)) is not None

    def owned(self, node: exp.Table) -> Relation:
        """The relation that a node names, which the role must own."""
        found = self.find_visible(node)
        self.check_owner(found, node)
        return found

    def check_owner(self, found: Relation, node: exp.Expr) -> None:
        """Raise unless the role owns a relation."""
        if self._context.catalog.is_own(found.name):
            return
        kind = "table" if isinstance(found, Table) else "view"
        key = relation_key(found)
        if not self._rights.sees(key):
            raise self.reads.unknown(found.name, node)
        if isinstance(found, Table):
            self.reads.tables.add(found.id)
        self.own_key(key, f"{kind} {found.name.name}", node)

    def own_key(self, key: ObjectKey, shown: str, node: exp.Expr) -> None:
        """Raise PRIVILEGE unless the role owns an object."""
        if not self._rights.owns(key):
            raise PalimpsestError(
                Code.PRIVILEGE,
                f"must be owner of {shown}",
                advice="its owner may, and so may the members of its owner",
                position=position_of(node),
            )

    def sequence(self, node: exp.Table, *, is_optional: bool) -> None:
        """Raise unless the role owns the sequence of a name."""
        found = find_sequence(node, self._context)
        numbered = identity_named(node, self._context) if found is None else None
        if numbered is not None:
            self.check_owner(numbered[0], node)
            return
        key = None if found is None else ObjectKey(ObjectKind.SEQUENCE, found.id)
        if found is not None and self._context.catalog.is_own(found.name):
            return
        if found is None or key is None or not self._rights.sees(key):
            if is_optional and found is None:
                return
            raise unknown_sequence(node, self._context.with_catalog(self.reads.visible()))
        self.own_key(key, f"sequence {found.name.name}", node)

    def may_create(self, node: exp.Table, *, is_temporary: bool) -> None:
        """Raise unless the role may make something in the schema of a name."""
        if not is_temporary and not is_in_temp_schema(node):
            schema = node.db or self._context.default_schema
            self.schema(schema, Privilege.CREATE, node)

    def schema(self, name: str, privilege: Privilege, node: exp.Expr) -> None:
        """Raise unless the role has a privilege on a schema; one that is not there is let pass."""
        if fold(name) not in self._context.catalog.schemas:
            return  # The rule says that there is none.
        if not self._rights.may(schema_key(name), privilege):
            self.refuse(f"for schema {name}", node, f"it takes {privilege} on the schema")

    def owned_schema(self, node: exp.Table) -> None:
        """Raise unless the role owns the schema of a name."""
        if is_in_temp_schema(node):
            return
        name = node.db or self._context.default_schema
        self.own_key(schema_key(name), f"schema {name}", node)

    def policy_scope(self, kind: ScopeKind, name: exp.Table | None) -> None:
        """Raise unless the role owns the schema whose policy changes; the database takes ADMIN."""
        if kind is not ScopeKind.SCHEMA or name is None:
            self.refuse("to change the policy of the database", name)
        elif fold(name.name) in self._context.catalog.schemas:
            self.own_key(schema_key(name.name), f"schema {name.name}", name)

    def refuse(self, what: str, node: exp.Expr | None, advice: str = "it takes ADMIN") -> None:
        """Raise PRIVILEGE."""
        raise PalimpsestError(
            Code.PRIVILEGE,
            f"permission denied {what}",
            advice=advice,
            position=position_of(node),
        )


def schema_key(name: str) -> ObjectKey:
    """The key of a schema."""
    return ObjectKey(ObjectKind.SCHEMA, 0, *TableName(name, "").key)
