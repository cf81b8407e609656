"""Checks whether a role may CREATE, DROP, ALTER or COMMENT. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from journal.model.access import DATABASE_KEY, Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.policy import PREFIX
from journal.model.schema import fold, relation_key
from journal.sql.cte_scopes import is_cte
from rewriter.access.owning import OwnerCheck, schema_key
from rewriter.access.reading import ReadCheck
from rewriter.access.writing import WriteCheck
from rewriter.definitions.index_names import find_index, find_key
from rewriter.definitions.sequences import find_sequence
from rewriter.name_resolution import table_name

_RELATIONS = frozenset({"TABLE", "VIEW", "MATERIALIZED VIEW"})


class DefinitionCheck:
    """Checks statements that define something."""

    def __init__(self, owners: OwnerCheck, writes: WriteCheck) -> None:
        self._owners = owners
        self._writes = writes
        self._reads = owners.reads
        self._context = owners.reads.context
        self._rights = owners.reads.rights

    def create(self, ast: exp.Create, kind: str) -> None:
        """Check CREATE of tables, views, schemas and indexes."""
        node = ast.this.this if isinstance(ast.this, exp.Schema) else ast.this
        if kind == "SCHEMA":
            if not self._rights.may(DATABASE_KEY, Privilege.CREATE):
                self._owners.refuse(
                    "for the database", ast, f"it takes {Privilege.CREATE} ON SYSTEM"
                )
            if ast.args.get("replace"):
                self._owners.refuse("to replace a schema", ast)
            return
        if kind == "INDEX":
            table = ast.this.args.get("table") if isinstance(ast.this, exp.Index) else None
            if not isinstance(table, exp.Table):
                self._owners.refuse("for this index", ast)
                return
            found = self._owners.owned(table)
            if not self._context.catalog.is_own(found.name):
                self._owners.schema(found.name.schema, Privilege.CREATE, table)
            self._reads.check(ast, {id(node) for node in ast.find_all(exp.Table)})
            return
        if kind not in _RELATIONS or not isinstance(node, exp.Table):
            self._owners.refuse(f"to create a {kind.lower()}", ast)
            return
        temporary = _is_temporary(ast)
        self._owners.may_create(node, is_temporary=temporary)
        known = self._context.catalog.get(table_name(node, self._context))
        if ast.args.get("replace") and known is not None and not temporary:
            self._owners.check_owner(known, node)
        self._references(ast, [node])
        self._named(ast, [node], query=ast.expression, is_view=kind == "VIEW")

    def _references(self, ast: exp.Expr, made: Iterable[exp.Table]) -> None:
        """Check the tables that foreign keys refer to; the one that is made may be one of them."""
        own = {id(node) for node in made}
        names = [table_name(node, self._context).key for node in made]
        for reference in ast.find_all(exp.Reference):
            target = reference.this
            table = target.this if isinstance(target, exp.Schema) else target
            if not isinstance(table, exp.Table) or id(table) in own:
                continue
            if table_name(table, self._context).key in names:
                continue
            found = self._owners.find_visible(table)
            columns = [c.name for c in target.expressions] if target is not table else None
            self._writes.require(found, Privilege.REFERENCES, table, columns)

    def _named(
        self,
        ast: exp.Expr,
        made: Iterable[exp.Table],
        *,
        query: exp.Expr | None,
        is_view: bool = False,
    ) -> None:
        """Check what else a definition names: a view's tables are seen, all others are read."""
        skipped = {id(node) for node in made}
        for reference in ast.find_all(exp.Reference):
            skipped |= {id(t) for t in reference.find_all(exp.Table)}
        if is_view and query is not None:
            with_rights = ReadCheck(self._context, self._rights.of(None), self._reads.tables)
            with_rights.note(query)
            for node in query.find_all(exp.Table):
                self._view_source(node)
            skipped |= {id(t) for t in query.find_all(exp.Table)}
        self._reads.check(ast, skipped)

    def _view_source(self, node: exp.Table) -> None:
        """What a view names must be seen by who makes it; it is read as the view is."""
        copied = exp.select("*").from_(node.copy())
        try:
            ReadCheck(self._context, self._rights).check(copied)
        except PalimpsestError as error:
            # Like PostgreSQL, which asks for SELECT when the view is read.
            if error.code is Code.UNKNOWN_TABLE and not is_cte(node):
                raise
            if error.code is not Code.UNKNOWN_TABLE and error.code is not Code.PRIVILEGE:
                raise

    def drop(self, ast: exp.Drop, kind: str) -> None:
        """Check DROP."""
        for node in ast.args.get("tables") or []:
            if kind == "SCHEMA":
                name = node.db or node.name
                if fold(name) in self._context.catalog.schemas:
                    self._owners.own_key(schema_key(name), f"schema {name}", node)
            elif kind == "INDEX":
                found = self._context.catalog.index(table_name(node, self._context))
                if found is not None:
                    self._owners.check_owner(found[0], node)
            elif kind in _RELATIONS:
                known = self._context.catalog.get(table_name(node, self._context))
                if known is None and ast.args.get("exists"):
                    continue
                self._owners.owned(node)
            else:
                self._owners.refuse(f"to drop a {kind.lower()}", ast)
        if ast.args.get("cascade") and kind not in {"SCHEMA", "INDEX"}:
            self._owners.refuse("to drop what depends on it as well", ast)

    def alter(self, ast: exp.Alter, kind: str) -> None:
        """Check ALTER of tables, views and indexes."""
        node = ast.this
        if kind == "INDEX":
            self.index(node)
            return
        if kind not in _RELATIONS:
            self._owners.refuse(f"to alter a {kind.lower()}", ast)
            return
        name = table_name(node, self._context)
        known = self._context.catalog.get(name)
        if known is None and self.index(node):
            return
        if known is None and find_sequence(node, self._context) is not None:
            self._owners.sequence(node, is_optional=False)
            return
        if known is None and ast.args.get("exists"):
            return
        found = self._owners.find_visible(node)
        if _sets_policies(ast) and self._rights.may(relation_key(found), Privilege.POLICY):
            return
        self._owners.check_owner(found, node)
        for action in ast.args.get("actions") or []:
            if isinstance(action, exp.AlterRename) and isinstance(action.this, exp.Table):
                if action.this.db:
                    self._owners.schema(action.this.db, Privilege.CREATE, node)
        self._references(ast, [node])
        skipped = [node]
        for action in ast.args.get("actions") or []:
            if isinstance(action, exp.AlterRename):
                skipped += action.find_all(exp.Table)
        self._named(ast, skipped, query=None)

    def index(self, node: exp.Table) -> bool:
        """Check who owns the table of an index, or of a key; False where it is neither."""
        index = find_index(node, self._context)
        table = find_key(node, self._context) if index is None else index[0]
        if table is not None:
            self._owners.check_owner(table, node)
        return table is not None

    def comment(self, ast: exp.Comment, kind: str) -> None:
        """Check COMMENT."""
        node = ast.this
        if kind == "SCHEMA":
            name = node.name
            self._owners.own_key(schema_key(name), f"schema {name}", node)
        elif kind == "COLUMN" and isinstance(node, exp.Column):
            parts = [node.args.get(p) for p in ("catalog", "db", "table")]
            catalog, schema, name = parts
            self._owners.owned(exp.Table(this=name, db=schema, catalog=catalog))
        elif kind in {"TABLE", "VIEW", "CONSTRAINT", "POLICY", "TRIGGER"}:
            self._owners.owned(node)
        elif kind == "INDEX":
            found = self._context.catalog.index(table_name(node, self._context))
            if found is not None:
                self._owners.check_owner(found[0], node)
        elif kind == "SEQUENCE":
            self._owners.sequence(node, is_optional=False)
        else:
            self._owners.refuse("to comment on this", ast)


def _is_temporary(ast: exp.Create) -> bool:
    properties = ast.args.get("properties")
    return properties is not None and properties.find(exp.TemporaryProperty) is not None


def _sets_policies(ast: exp.Alter) -> bool:
    """True where all that an ALTER does is to set or take away policies."""
    actions = ast.args.get("actions") or []
    names = [p.name for a in actions for p in a.find_all(exp.Property)]
    return (
        bool(actions)
        and all(isinstance(action, exp.AlterSet) for action in actions)
        and bool(names)
        and all(name.lower().startswith(PREFIX) for name in names)
    )
