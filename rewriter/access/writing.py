"""Checks what a statement writes against the role's privileges. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from journal.model.access import OF_COLUMNS, Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Relation, Table, fold, relation_key
from rewriter.access.reading import ReadCheck, column_of, every_column
from rewriter.access.used_columns import used_columns
from rewriter.name_resolution import position_of, table_name
from rewriter.reading.scopes import is_named

WRITERS = (exp.Insert, exp.Update, exp.Delete, exp.Merge)


class WriteCheck:
    """Goes through the statements that write, those in CTEs included, and what they read."""

    def __init__(self, reads: ReadCheck) -> None:
        self._reads = reads
        self._targets: set[int] = set()

    def check(self, tree: exp.Expr) -> None:
        """Check a tree; raises UNKNOWN_TABLE and PRIVILEGE."""
        for node in list(tree.find_all(*WRITERS, exp.TruncateTable)):
            self._check_statement(node)
        self._reads.check(tree, self._targets)

    def target(self, node: exp.Expr | None) -> tuple[exp.Table, Relation] | None:
        """The table that a node names to be written to; None for what is none."""
        table = node.this if isinstance(node, exp.Schema) else node
        if not isinstance(table, exp.Table) or not is_named(table):
            return None
        self._targets.add(id(table))
        name = table_name(table, self._reads.context)
        found = self._reads.context.catalog.get(name)
        if found is None:
            if self._reads.context.catalog.by_journal(name) is not None:
                found = self._reads.context.catalog.by_journal(name)
                assert found is not None
                self._reads.enter(found, table)
                return table, found
            raise self._reads.unknown(name, table)
        self._reads.enter(found, table)
        return table, found

    def require(
        self,
        found: Relation,
        privilege: Privilege,
        at: exp.Expr,
        columns: Iterable[str] | None = None,
    ) -> None:
        """Raise unless the role has a privilege, on the table or on all the columns named."""
        if self._reads.context.catalog.is_own(found.name):
            return
        key = self._reads.enter(found, at)
        self._reads.check_policies(found, at, writes=True)
        rights = self._reads.rights
        if rights.may(key, privilege):
            return
        if columns is not None and privilege in OF_COLUMNS:
            granted = rights.columns(key, privilege)
            named = {column_of(found, fold(name)) for name in columns}
            if granted and named <= granted:
                return
        raise self._reads.refused(found, privilege, at)

    def _require_owner(self, found: Relation, at: exp.Table) -> None:
        """Raise unless the role may have the numbers of a table begin anew."""
        owns = self._reads.rights.owns(relation_key(found))
        if not owns and not self._reads.context.catalog.is_own(found.name):
            raise PalimpsestError(
                Code.PRIVILEGE,
                f"must be owner of table {found.name.name} for RESTART IDENTITY",
                advice="its owner may; TRUNCATE without it takes TRUNCATE alone",
                position=position_of(at),
            )

    def _check_statement(self, node: exp.Expr) -> None:
        match node:
            case exp.TruncateTable():
                for table in node.expressions:
                    found = self.target(table)
                    if found is not None:
                        self.require(found[1], Privilege.TRUNCATE, table)
                        if str(node.args.get("identity") or "").upper() == "RESTART":
                            self._require_owner(found[1], table)
            case exp.Insert():
                self._check_insert(node)
            case exp.Update():
                self._check_update(node)
            case exp.Delete():
                found = self.target(node.this)
                if found is not None:
                    self.require(found[1], Privilege.DELETE, node.this)
                    self._check_own_columns(node, *found)
            case exp.Merge():
                self._check_merge(node)

    def _check_insert(self, node: exp.Insert) -> None:
        if isinstance(node.parent, exp.When):
            return  # MERGE's own.
        found = self.target(node.this)
        if found is None:
            return
        table, relation = found
        named = [c.name for c in node.this.expressions] if isinstance(node.this, exp.Schema) else []
        self.require(relation, Privilege.INSERT, table, named or _all_columns(relation))
        conflict = node.args.get("conflict")
        if node.args.get("overwrite"):
            self.require(relation, Privilege.DELETE, table)
        if node.args.get("alternative") or (conflict and conflict.args.get("duplicate")):
            self.require(relation, Privilege.UPDATE, table)
            self.require(relation, Privilege.SELECT, table)
        written: set[int] = set()
        if conflict is not None:
            changed = [e for e in conflict.expressions if isinstance(e, exp.EQ)]
            if changed:
                names = list(_assigned(changed, written))
                self.require(relation, Privilege.UPDATE, table, names)
            keys = [k.name for k in conflict.args.get("conflict_keys") or []]
            if keys:
                self.require(relation, Privilege.SELECT, table, keys)
        parts = [conflict, node.args.get("returning")]
        self._check_parts(node, [p for p in parts if p is not None], table, relation, written)

    def _check_update(self, node: exp.Update) -> None:
        if isinstance(node.parent, exp.When):
            return
        found = self.target(node.this)
        if found is None:
            return
        written: set[int] = set()
        names = list(_assigned(node.expressions, written))
        self.require(found[1], Privilege.UPDATE, found[0], names)
        self._check_own_columns(node, *found, written)

    def _check_merge(self, node: exp.Merge) -> None:
        found = self.target(node.this)
        if found is None:
            return
        table, relation = found
        written: set[int] = set()
        for when in node.find_all(exp.When):
            then = when.args.get("then")
            if isinstance(then, exp.Update):
                if then.expressions:
                    names = list(_assigned(then.expressions, written))
                else:
                    names = _all_columns(relation)
                self.require(relation, Privilege.UPDATE, table, names)
            elif isinstance(then, exp.Insert):
                listed = then.this.expressions if isinstance(then.this, exp.Tuple) else []
                written |= {id(part) for part in listed}
                names = [part.name for part in listed] or _all_columns(relation)
                self.require(relation, Privilege.INSERT, table, names)
            elif "DELETE" in str(then).upper():
                self.require(relation, Privilege.DELETE, table)
            elif then is not None and "NOTHING" not in str(then).upper():
                if not when.args.get("error"):
                    for privilege in (Privilege.UPDATE, Privilege.INSERT, Privilege.DELETE):
                        self.require(relation, privilege, table)
        self._check_own_columns(node, table, relation, written)

    def _check_own_columns(
        self, node: exp.Expr, table: exp.Table, relation: Relation, written: set[int] | None = None
    ) -> None:
        parts = [v for k, v in node.args.items() if k not in {"this", "with_"} and v]
        flat = [p for v in parts for p in (v if isinstance(v, list) else [v])]
        nodes = [p for p in flat if isinstance(p, exp.Expr)]
        self._check_parts(node, nodes, table, relation, written or set())

    def _check_parts(
        self,
        node: exp.Expr,
        parts: list[exp.Expr],
        table: exp.Table,
        relation: Relation,
        written: set[int],
    ) -> None:
        """Check the columns of the table itself that parts of a statement read."""
        key = self._reads.enter(relation, table)
        rights = self._reads.rights
        is_own = self._reads.context.catalog.is_own(relation.name)
        if is_own or rights.may(key, Privilege.SELECT) or not isinstance(relation, Table):
            return
        skipped = set(written) | {id(v) for v in _unread_parts(node, parts)}
        aliases = {table.alias_or_name, relation.name.name}
        names = frozenset(fold(c.name) for c in relation.columns)
        used: set[str] = set()
        for alias in aliases:
            found = used_columns(node, alias, names, self._reads.names_of, skipped)
            used |= every_column(relation, found)
        granted = rights.columns(key, Privilege.SELECT)
        if not {column_of(relation, n) for n in used} <= granted:
            raise self._reads.refused(relation, Privilege.SELECT, table)


def _unread_parts(node: exp.Expr, parts: list[exp.Expr]) -> Iterator[exp.Expr]:
    """The parts of a statement that do not read its table."""
    kept = {id(part) for part in parts}
    for value in node.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr) and id(part) not in kept:
                yield part


def _all_columns(found: Relation) -> list[str]:
    return [c.name for c in found.columns] if isinstance(found, Table) else list(found.columns)


def _assigned(nodes: Iterable[exp.Expr], written: set[int]) -> Iterator[str]:
    """The columns that SET gives values to; their nodes are noted as written."""
    for node in nodes:
        target = node.this if isinstance(node, exp.EQ) else node
        written.add(id(target))
        parts = target.expressions if isinstance(target, exp.Tuple | exp.Paren) else [target]
        for part in parts or [target]:
            while isinstance(part, exp.Bracket):
                part = part.this
            names = [p.name for p in part.parts] if isinstance(part, exp.Column) else [part.name]
            # The name behind a table's, which may be a field of a column: then both count.
            yield names[-1]
