"""The rows of ``pg_catalog``'s relations, from the catalog of a warehouse. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from gateway.servers.pg_catalog import numbering
from gateway.servers.pg_catalog.definitions import (
    ACCESS_METHODS,
    BTREE,
    check_definition,
    foreign_key_definition,
    index_definition,
    key_definition,
    ordered_term,
    quote_name,
)
from gateway.servers.pg_catalog.references import collation_number, put_referenced_indexes
from gateway.servers.pg_catalog.relations import builtin_types
from gateway.servers.pg_catalog.shown_texts import shown_default, shown_expression, shown_query
from gateway.servers.pg_catalog.user_types import UserDefinitions
from gateway.servers.pg_catalog.view_rules import add_view_rules
from gateway.servers.pgwire.types import field_of, text_field
from journal.model.foreign_key import Deferral, ForeignKey, ReferenceAction
from journal.model.identity import Identity
from journal.model.number_source import TYPES
from journal.model.result_column import ResultColumn
from journal.model.schema import (
    SPELLED_SERIAL,
    CatalogSnapshot,
    Column,
    Index,
    Materialized,
    Table,
    TableName,
    View,
    fold,
)
from journal.model.sequence import Sequence as DeclaredSequence
from journal.sql.sql import expression
from journal.sql.text_lengths import TextLength, text_length, text_lengths
from journal.sql.unique_keys import logical_text
from rewriter.definitions.sequences import identity_sequence

Row = dict[str, Any]
ViewColumns = Callable[[View], Sequence[ResultColumn]]
_ALIVE = {"relpersistence": "p", "relowner": numbering.OWNER, "relreplident": "d"}
_SPELLED = {"varchar": 1043, "varchar[]": 1015, "json": 114, "json[]": 199}
"""The numbers of types that are kept as text and jsonb."""
_ACTION_CODES = {
    ReferenceAction.NO_ACTION: "a", ReferenceAction.RESTRICT: "r", ReferenceAction.CASCADE: "c",
    ReferenceAction.SET_NULL: "n", ReferenceAction.SET_DEFAULT: "d",
}  # fmt: skip


class CatalogContents:
    """Rows by relation, gathered table by table; ``schema_name`` is how clients read a schema."""

    def __init__(
        self,
        catalog: CatalogSnapshot,
        view_columns: ViewColumns,
        user: str,
        schema_name: Callable[[str], str],
        shown_type: Callable[[str], str],
    ) -> None:
        self.rows: dict[str, list[Row]] = {}
        self._catalog = catalog
        self._schema_name, self._shown_type = schema_name, shown_type
        self._view_columns = view_columns
        self._kinds: dict[int, tuple[tuple[str, str], ...]] = {}
        self._parents = {
            key.parent
            for relation in catalog.relations.values()
            if isinstance(relation, Table)
            for key in relation.foreign_keys
        }
        self._definitions = UserDefinitions(catalog)
        self._add_fixed(user)
        self._definitions.add(self.rows, self._schema_name)
        self._type_names = {int(row["oid"]): row["shown"] for row in self.rows["shown_types"]}
        if catalog.comment is not None:
            self._add(
                "pg_shdescription", objoid=numbering.DATABASE,
                classoid=numbering.CATALOGS["pg_database"], description=catalog.comment,
            )  # fmt: skip
        for name in dict.fromkeys((*catalog.schemas.values(), catalog.home)):
            oid = numbering.schema_oid(name, catalog)
            self._add(
                "pg_namespace", oid=oid, nspname=self._schema_name(name), nspowner=numbering.OWNER
            )
            self._describe(oid, "pg_namespace", 0, catalog.schema_comments.get(fold(name)))
        if catalog.own is not None and catalog.own_relations():
            oid = numbering.schema_oid(catalog.own, catalog)
            self._add("pg_namespace", oid=oid, nspname="pg_temp", nspowner=numbering.OWNER)
        for found in catalog.user_types():
            self._describe(numbering.type_oid(found.name), "pg_type", 0, found.comment)
        for relation in catalog.relations.values():
            if isinstance(relation, Table):
                self._add_table(relation)
            else:
                self._add_view(relation)
        put_referenced_indexes(self.rows)
        add_view_rules(self.rows, catalog)
        for sequence in catalog.sequences.values():
            self._add_sequence(sequence.name.schema, sequence.name.name, sequence)

    def _add(self, relation: str, **row: Any) -> None:
        self.rows.setdefault(relation, []).append(row)

    def _add_fixed(self, user: str) -> None:
        for oid, name in ((numbering.PG_CATALOG, "pg_catalog"), (13_000, "information_schema")):
            self._add("pg_namespace", oid=oid, nspname=name, nspowner=numbering.OWNER)
        for kind in builtin_types():
            shown = {k: v for k, v in kind.items() if k != "shown"}
            self._add(
                "pg_type", **shown, typnamespace=numbering.PG_CATALOG, typowner=numbering.OWNER,
                typnotnull=False, typbasetype=0, typtypmod=-1, typndims=0, typrelid=0,
                typisdefined=True, typcollation=100 if kind["typcategory"] == "S" else 0,
            )  # fmt: skip
            self._add("shown_types", oid=kind["oid"], shown=kind["shown"])
        role = {
            "rolsuper": True, "rolinherit": True, "rolcreaterole": True, "rolcreatedb": True,
            "rolcanlogin": True, "rolreplication": False, "rolbypassrls": True, "rolconnlimit": -1,
        }  # fmt: skip
        self._add("pg_roles", oid=numbering.OWNER, rolname=user, **role)
        self._add("pg_authid", oid=numbering.OWNER, rolname=user, **role)
        self._add("pg_user", usename=user, usesysid=numbering.OWNER, usesuper=True)
        self._add(
            "pg_database", oid=numbering.DATABASE, datname=self._catalog.database, encoding=6,
            datdba=numbering.OWNER, datcollate="C", datctype="C", datallowconn=True,
            datistemplate=False, datconnlimit=-1, datlocprovider="c", dattablespace=1663,
        )  # fmt: skip
        self._add("pg_tablespace", oid=1663, spcname="pg_default", spcowner=numbering.OWNER)

    def _add_relation(self, relation: Table | View, kind: str, columns: int, **more: Any) -> int:
        oid = numbering.relation_oid(relation)
        schema = numbering.schema_oid(relation.name.schema, self._catalog)
        row = {
            "oid": oid, "relname": relation.name.name, "relnamespace": schema, "relkind": kind,
            "relnatts": columns, "relam": 2 if kind in "rm" else 0, "reltuples": -1.0,
            "relispopulated": True, **_ALIVE,
            "relpersistence": "t" if self._catalog.is_own(relation.name) else "p",
            **_NO_FLAGS, "reltype": numbering.row_type_oid(oid), **more,
        }  # fmt: skip
        self._add("pg_class", **row)
        self._describe(oid, "pg_class", 0, relation.comment)
        return oid

    def _describe(self, oid: int, of: str, place: int, comment: str | None) -> None:
        if comment is not None:
            classoid = numbering.CATALOGS[of]
            self._add(
                "pg_description", objoid=oid, classoid=classoid, objsubid=place, description=comment
            )

    def _add_table(self, table: Table) -> None:
        checks = [check for check in table.checks if text_length(check) is None]
        has_index = bool(table.uniques or table.indexes or not table.hidden_key)
        made = table.materialized
        oid = self._add_relation(
            table, "r" if made is None else "m", len(table.columns), relhasindex=has_index,
            relhastriggers=bool(table.foreign_keys or table.triggers) or table.id in self._parents,
            relchecks=len(checks), relispopulated=made is None or made.refreshed is not None,
        )  # fmt: skip
        if made is not None:
            self._add_materialized(oid, table, made)
        places = {column.physical: n for n, column in enumerate(table.columns, 1)}
        next_part = iter(range(255))
        self._add_columns(table, oid, next_part)
        shown_name = TableName(self._schema_name(table.name.schema), table.name.name)
        names = {column.physical: column.name for column in table.columns}
        keys = [(table.key_name or f"{table.name.name}_pkey", table.key, True)]
        keys = [] if table.hidden_key else keys
        keys += [(u.name, u.columns, u.primary) for u in table.uniques]
        for name, columns, is_primary in keys:
            index = numbering.part_oid(table, next(next_part))
            numbers = [places[c] for c in columns]
            shown = [names[c] for c in columns]
            self._add_index(table, index, name, numbers, is_unique=True, is_primary=is_primary)
            terms = [quote_name(column) for column in shown]
            text = index_definition(shown_name, Index(name, (), (), unique=True), terms)
            self._add("index_definitions", oid=index, place=0, definition=text)
            self._add_constraint(
                table, numbering.part_oid(table, next(next_part)), name, "p" if is_primary else "u",
                key_definition(shown, primary=is_primary), conkey=numbers, conindid=index,
            )  # fmt: skip
        for found in table.indexes:
            index = numbering.part_oid(table, next(next_part))
            self._add_declared_index(table, shown_name, found, index)
        for check in checks:
            part = numbering.part_oid(table, next(next_part))
            used = {c.name for c in expression(check.expression).find_all(exp.Column)}
            text = self._expression(table, check.expression)
            self._add_constraint(
                table, part, check.name, "c", check_definition(text), conbin=text,
                conkey=sorted(n for physical, n in places.items() if physical in used),
            )  # fmt: skip
        for key in table.foreign_keys:
            parent = self._catalog.by_id(key.parent)
            if isinstance(parent, Table):
                part = numbering.part_oid(table, next(next_part))
                self._add_foreign_key(table, key, parent, part, places)

    def _add_columns(self, table: Table, oid: int, next_part: Iterator[int]) -> None:
        """The columns of a table with their defaults and the sequences of identities."""
        lengths, kinds = text_lengths(table), list[tuple[str, str]]()
        for place, column in enumerate(table.columns, 1):
            field = ResultColumn(column.name, column.type)
            kind = self._add_column(oid, place, field, column, lengths.get(column.physical))
            if column.identity is not None:
                self._add_identity_sequence(table, column, place, column.identity)
            text = self._shown_default(table, column, kind)
            if text is not None:
                self._add(
                    "pg_attrdef", oid=numbering.part_oid(table, next(next_part)), adrelid=oid,
                    adnum=place, adbin=text,
                )  # fmt: skip
            kinds.append((column.name, self._type_names.get(kind, "")))
        self._kinds[table.id] = tuple(kinds)

    def _shown_default(self, table: Table, column: Column, kind: int) -> str | None:
        """The default of a column, or what it is generated of; ``kind`` is the number of a type."""
        home = self._catalog.home
        if _is_serial(column):
            sequence = self._definition_name(identity_sequence(table, column))
            return f"nextval('{sequence}'::regclass)"
        if column.generated:
            return self._expression(table, column.generated)
        if column.default is None:
            return None
        return shown_default(column.default, home, self._type_names.get(kind, "text"))

    def _add_foreign_key(
        self, table: Table, key: ForeignKey, parent: Table, part: int, places: Mapping[str, int]
    ) -> None:
        theirs = {c.physical: n for n, c in enumerate(parent.columns, 1)}
        self._add_constraint(
            table, part, key.name, "f", foreign_key_definition(key, table, parent),
            conkey=[places[c] for c in key.columns],
            confrelid=numbering.relation_oid(parent),
            confkey=[theirs[c] for c in key.parent_columns],
            confupdtype=_ACTION_CODES[key.on_update], confdeltype=_ACTION_CODES[key.on_delete],
            confmatchtype="f" if key.match_full else "s", condeferrable=key.is_deferrable,
            condeferred=key.deferral is Deferral.INITIALLY,
        )  # fmt: skip

    def _add_column(
        self,
        oid: int,
        place: int,
        shown: ResultColumn,
        column: Column | None = None,
        length: TextLength | None = None,
    ) -> int:
        """Add it; the number of its type."""
        field = (
            field_of(ResultColumn(shown.name, self._shown_type(shown.type)))
            if length is None
            else text_field(shown.name, length)
        )
        identity = ""
        if column is not None and column.identity is not None and not _is_serial(column):
            identity = "a" if getattr(column.identity, "always", False) else "d"
        generated = "s" if column is not None and column.generated else ""
        has_default = column is not None and (
            column.default not in {None, "NULL"} or bool(generated) or _is_serial(column)
        )
        type_oid = field.oid
        order = column.collation if column is not None else None
        if column is not None:
            type_oid = _SPELLED.get(column.spelled or "", type_oid) if length is None else type_oid
            own = self._definitions.number_of(column.declared)
            if own is not None:
                type_oid = numbering.array_oid(own[0]) if own[1] else own[0]
        self._add(
            "pg_attribute", attrelid=oid, attname=shown.name, atttypid=type_oid, attlen=field.size,
            attnum=place, attndims=1 if shown.type.endswith("]") else 0, attcacheoff=-1,
            atttypmod=field.modifier, attbyval=field.size > 0, attalign="i", attstorage="p",
            attcompression="", attnotnull=bool(column and column.not_null), atthasdef=has_default,
            atthasmissing=False, attidentity=identity, attgenerated=generated, attisdropped=False,
            attislocal=True, attinhcount=0, attstattarget=-1,
            attcollation=collation_number(self.rows, order)
            if length is not None or field.oid == _TEXT
            else 0,
        )  # fmt: skip
        if column is not None:
            self._describe(oid, "pg_class", place, column.comment)
        return type_oid

    def _add_index(
        self, table: Table, oid: int, name: str, numbers: list[int], *, is_unique: bool,
        is_primary: bool = False, method: str = "", included: Sequence[int] = (), **more: Any,
    ) -> None:  # fmt: skip
        carried = [*numbers, *included]
        schema = numbering.schema_oid(table.name.schema, self._catalog)
        row = {
            "oid": oid, "relname": name, "relnamespace": schema, "relkind": "i",
            "relam": ACCESS_METHODS.get(method, BTREE), "relnatts": len(carried),
            "reltuples": -1.0, "relispopulated": True, **_ALIVE, **_NO_FLAGS,
        }  # fmt: skip
        self._add("pg_class", **row)
        self._add(
            "pg_index", indexrelid=oid, indrelid=numbering.relation_oid(table),
            indnatts=len(carried), indnkeyatts=len(numbers), indisunique=is_unique,
            indisprimary=is_primary, indisexclusion=False, indimmediate=True,
            indisclustered=False, indisvalid=True, indcheckxmin=False, indisready=True,
            indislive=True, indisreplident=False, indkey=carried, indnullsnotdistinct=False,
            **{"indcollation": [0] * len(numbers), "indoption": [0] * len(numbers), **more},
        )  # fmt: skip
        for place, number in enumerate(carried, 1):
            named = table.columns[number - 1] if number else None
            shown = ResultColumn(
                named.name if named else "expr", named.type if named else "VARCHAR"
            )
            self._add_column(oid, place, shown)

    def _add_declared_index(self, table: Table, name: TableName, found: Index, number: int) -> None:
        """An index that was declared, of a table that clients read under ``name``."""
        places = {column.physical: n for n, column in enumerate(table.columns, 1)}
        numbers = [places.get(t.text, 0) if t.is_column else 0 for t in found.terms]
        terms = [
            quote_name(table.by_physical(t.text).name)
            if t.is_column
            else self._expression(table, t.text)
            for t in found.terms
        ]
        pairs = list(zip(terms, found.terms, strict=True))
        computed = [shown for shown, term in pairs if not term.is_column]
        predicate = found.predicate and self._expression(table, found.predicate)
        self._add_index(
            table, number, found.name, numbers, is_unique=found.unique, method=found.method,
            included=[places[physical] for physical in found.included],
            indpred=predicate, indexprs=", ".join(computed) or None,
            indoption=[t.descending + 2 * t.nulls_first for t in found.terms],
        )  # fmt: skip
        ordered = [ordered_term(*pair) for pair in pairs]
        included = [table.by_physical(physical).name for physical in found.included]
        text = index_definition(name, found, ordered, predicate, included)
        self._add("index_definitions", oid=number, place=0, definition=text)
        for place, (shown, term) in enumerate(pairs, 1):
            if not term.is_column:
                self._add("index_definitions", oid=number, place=place, definition=shown)
        self._describe(number, "pg_class", 0, found.comment)

    def _expression(self, table: Table, text: str) -> str:
        """A stored expression over the columns of a table, as PostgreSQL spells it."""
        if any(column.physical != column.name for column in table.columns):
            text = logical_text(table, text)
        return shown_expression(text, self._catalog.home, self._kinds.get(table.id, ()))

    def _add_constraint(
        self, table: Table, oid: int, name: str, kind: str, text: str, **more: Any
    ) -> None:
        row = {
            "oid": oid, "conname": name, "contype": kind, "condeferrable": False,
            "connamespace": numbering.schema_oid(table.name.schema, self._catalog),
            "condeferred": False, "convalidated": True, "conrelid": numbering.relation_oid(table),
            "contypid": 0, "conindid": 0, "conparentid": 0, "confrelid": 0, "conislocal": True,
            "coninhcount": 0, "connoinherit": kind != "c", **more,
        }  # fmt: skip
        self._add("pg_constraint", **row)
        self._describe(oid, "pg_constraint", 0, dict(table.constraint_comments).get(fold(name)))
        self._add("constraint_definitions", oid=oid, definition=text)

    def _add_materialized(self, oid: int, table: Table, made: Materialized) -> None:
        definition = f" {shown_query(made.shown_query, self._catalog.home)};"
        self._add("view_definitions", oid=oid, definition=definition)
        self._add(
            "pg_matviews", schemaname=self._schema_name(table.name.schema),
            matviewname=table.name.name, hasindexes=False,
            ispopulated=made.refreshed is not None, definition=definition,
        )  # fmt: skip

    def _add_view(self, view: View) -> None:
        columns, said = self._view_columns(view), dict(view.column_comments)
        oid = self._add_relation(view, "v", len(columns), relhasrules=True)
        for place, column in enumerate(columns, 1):
            self._add_column(oid, place, column)
            self._describe(oid, "pg_class", place, said.get(fold(column.name)))
        definition = f" {shown_query(view.shown_query, self._catalog.home)};"
        self._add("view_definitions", oid=oid, definition=definition)

    def _add_identity_sequence(
        self, table: Table, column: Column, place: int, identity: Identity
    ) -> None:
        """The sequence that clients know an identity column by, or a column of SERIAL."""
        name = identity_sequence(table, column)
        number = field_of(ResultColumn("", column.type)).oid
        kind = next((k for k in TYPES if field_of(ResultColumn("", k)).oid == number), "BIGINT")
        rises = identity.increment > 0
        shown = DeclaredSequence(
            *(0, name, kind, identity.start, identity.increment),
            *((1, TYPES[kind]) if rises else (-TYPES[kind] - 1, -1)), identity.first,
        )  # fmt: skip
        self._add_sequence(name.schema, name.name, shown)
        of_relations = numbering.CATALOGS["pg_class"]
        self._add(
            "pg_depend", classid=of_relations, objid=numbering.sequence_oid(name.schema, name.name),
            objsubid=0, refclassid=of_relations, refobjid=numbering.relation_oid(table),
            refobjsubid=place, deptype="a" if _is_serial(column) else "i",
        )  # fmt: skip
        self._add(
            "serial_columns", nspname=self._schema_name(name.schema), relname=table.name.name,
            attname=column.name, seqrelid=numbering.sequence_oid(name.schema, name.name),
            sequence=f"{quote_name(self._schema_name(name.schema))}.{quote_name(name.name)}",
        )  # fmt: skip

    def _definition_name(self, name: TableName) -> str:
        """A name as in a definition: without the home schema."""
        parts = [name.schema, name.name] if name.schema != self._catalog.home else [name.name]
        return ".".join(map(quote_name, parts))

    def _add_sequence(self, schema: str, name: str, sequence: Any) -> None:
        oid = numbering.sequence_oid(schema, name)
        row = {
            "oid": oid, "relname": name, "relkind": "S", "relnatts": 3, "reltuples": 1.0,
            "relnamespace": numbering.schema_oid(schema, self._catalog), "relispopulated": True,
            **_ALIVE, **_NO_FLAGS,
        }  # fmt: skip
        self._add("pg_class", **row)
        self._describe(oid, "pg_class", 0, sequence.comment)
        self._add(
            "pg_sequence", seqrelid=oid, seqtypid=field_of(ResultColumn("", sequence.type)).oid,
            seqstart=sequence.start, seqincrement=sequence.increment, seqmax=sequence.maximum,
            seqmin=sequence.minimum, seqcache=sequence.cache, seqcycle=sequence.cycles,
        )  # fmt: skip


def _is_serial(column: Column) -> bool:
    """True for a column that PostgreSQL has no identity for, but a default."""
    return column.identity is not None and column.spelled == SPELLED_SERIAL


_TEXT = 25
_NO_FLAGS = {
    "relpages": 0, "relhasindex": False, "relisshared": False, "relchecks": 0,
    "relhasrules": False, "relhastriggers": False, "relhassubclass": False,
    "relrowsecurity": False, "relforcerowsecurity": False, "relispartition": False, "reltype": 0,
    "reltablespace": 0, "reloftype": 0, "reltoastrelid": 0, "relfilenode": 0, "relrewrite": 0,
}  # fmt: skip
