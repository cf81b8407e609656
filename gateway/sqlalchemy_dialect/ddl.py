"""DDL: tables, keys, identity columns, comments; and how types are spelled.

What a model says of a table is written out, so that the gateway refuses what it does not do; where
it has no words for that, the compiler refuses it with the gateway's code. Only comments of
constraints are passed over, for they change no answer.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc, schema
from sqlalchemy.dialects.postgresql.base import PGIdentifierPreparer
from sqlalchemy.sql import coercions, compiler, roles

from gateway.sqlalchemy_dialect.compiler import literal
from gateway.sqlalchemy_dialect.types import Nested
from journal.model.errors import Code, PalimpsestError

_NUMERIC_PRECISION, _NUMERIC_SCALE = 38, 10
_FLOAT_BITS_SINGLE = 24


def is_meant_for_others(constraint: schema.Constraint, dialect: Any) -> bool:
    """True for a constraint that a model keeps from this dialect by ``ddl_if``."""
    return not constraint._should_create_for_compiler(dialect.ddl_compiler(dialect, None))


def _compile_error(what: str, advice: str) -> exc.CompileError:
    """The error of something that a model asks for and SQL has no words for here."""
    error = PalimpsestError(Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice)
    return exc.CompileError(str(error))


class PalimpsestIdentifierPreparer(PGIdentifierPreparer):
    """Quotes as PostgreSQL does; some words more are reserved."""

    reserved_words = PGIdentifierPreparer.reserved_words | {
        "asof", "at", "describe", "pivot", "pivot_longer", "pivot_wider", "positional", "qualify",
        "semi", "show", "summarize", "unpivot",
    }  # fmt: skip


class PalimpsestDDLCompiler(compiler.DDLCompiler):
    """CREATE TABLE and its kin."""

    def get_column_specification(self, column: schema.Column[Any], **kw: Any) -> str:
        """Name, type, default or identity, NOT NULL."""
        words = [
            self.preparer.format_column(column),
            self.dialect.type_compiler_instance.process(column.type, type_expression=column),
        ]
        default = self.get_column_default_string(column)
        numbered = column.table is not None and column is column.table._autoincrement_column
        sequence = column.default if isinstance(column.default, schema.Sequence) else None
        if sequence is not None and not sequence.optional:
            # Its numbers come with each INSERT.
            numbered = False
        if column.identity is not None:
            words.append(self.process(column.identity))
        elif default is not None:
            words.append(f"DEFAULT {default}")
        elif numbered:
            words.append(_identity_clause("BY DEFAULT", sequence))
        if column.computed is not None:
            words.append(self.process(column.computed))
        if not column.nullable and column.identity is None:
            words.append("NOT NULL")
        return " ".join(words)

    def visit_identity_column(self, identity: schema.Identity, **kw: Any) -> str:
        """GENERATED .. AS IDENTITY with the two options there are."""
        return _identity_clause("ALWAYS" if identity.always else "BY DEFAULT", identity)

    def define_unique_constraint_distinct(self, constraint: Any, **kw: Any) -> str:
        """NULLS NOT DISTINCT, which the gateway refuses, as it is written for PostgreSQL."""
        return "NULLS NOT DISTINCT " if _compares_nulls(constraint) else ""

    def visit_create_index(
        self,
        create: Any,
        include_schema: bool = False,
        include_table_schema: bool = True,
        **kw: Any,
    ) -> str:
        """CREATE INDEX, with what the model says of its rows, to whatever database it says so."""
        index = create.element
        text: str = super().visit_create_index(  # type: ignore[no-untyped-call]
            create, include_schema, include_table_schema, **kw
        )
        options = _dialect_options(index)
        included = next((v for k, v in options.items() if k.endswith("_include")), None)
        if included:
            names = [c if isinstance(c, str) else c.name for c in included]
            text += f" INCLUDE ({', '.join(map(self.preparer.quote, names))})"
        if _compares_nulls(index):
            text += " NULLS NOT DISTINCT"
        where = next((v for k, v in options.items() if k.endswith("_where")), None)
        if where is not None:
            condition = coercions.expect(roles.DDLExpressionRole, where)
            shown = self.sql_compiler.process(condition, include_table=False, literal_binds=True)
            text += f" WHERE {shown}"
        return text

    def define_constraint_deferrability(self, constraint: Any) -> str:
        """What would defer the check, which the gateway refuses; nothing for what it does."""
        deferred = (constraint.initially or "").upper() == "DEFERRED"
        if isinstance(constraint, schema.CheckConstraint) and (constraint.deferrable or deferred):
            raise _compile_error("a CHECK that is deferrable", "leave it out: each row is checked")
        text = " DEFERRABLE" if constraint.deferrable else ""
        return f"{text} INITIALLY DEFERRED" if deferred else text


def _identity_clause(kind: str, options: schema.Identity | schema.Sequence | None) -> str:
    """``GENERATED kind AS IDENTITY`` with the options of an identity or a sequence."""
    others = ("minvalue", "maxvalue", "cache", "cycle", "order", "on_null")
    given = {name: getattr(options, name, None) for name in others}
    asked = [name for name, value in given.items() if value is not None and value is not False]
    if asked:
        raise _compile_error(
            f"an identity column with {', '.join(asked)}",
            "leave it out: start and increment are what there is; a CHECK sets bounds",
        )
    words = []
    if options is not None and options.start is not None:
        words.append(f"START WITH {options.start}")
    if options is not None and options.increment is not None:
        words.append(f"INCREMENT BY {options.increment}")
    inside = f" ({' '.join(words)})" if words else ""
    return f"GENERATED {kind} AS IDENTITY{inside}"


def _dialect_options(item: schema.Index | schema.Constraint) -> dict[str, Any]:
    """Arguments for other databases that have a value: some say what the rows must be like."""
    return {str(k): v for k, v in item.dialect_kwargs.items() if v is not None}


def _compares_nulls(item: schema.Index | schema.Constraint) -> bool:
    return bool(_dialect_options(item).get("postgresql_nulls_not_distinct"))


class PalimpsestTypeCompiler(compiler.GenericTypeCompiler):
    """The names of types."""

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """A Python float has 64 bits; fewer only when asked for."""
        bits = type_.precision
        return "REAL" if bits is not None and bits <= _FLOAT_BITS_SINGLE else "DOUBLE"

    def visit_double(self, type_: Any, **kw: Any) -> str:
        """DOUBLE."""
        return "DOUBLE"

    visit_DOUBLE = visit_DOUBLE_PRECISION = visit_double  # noqa: N815

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """A decimal; without a precision as wide as there is."""
        precision = type_.precision or _NUMERIC_PRECISION
        scale = type_.scale
        if scale is None:
            scale = 0 if type_.precision else _NUMERIC_SCALE
        return f"DECIMAL({precision}, {scale})"

    visit_DECIMAL = visit_NUMERIC  # noqa: N815

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        """BLOB."""
        return "BLOB"

    visit_BINARY = visit_VARBINARY = visit_BLOB = visit_large_binary  # noqa: N815

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """Text has no length here; a collation is one of the store's."""
        return f'VARCHAR COLLATE "{type_.collation}"' if type_.collation else "VARCHAR"

    visit_CLOB = visit_TEXT  # noqa: N815

    def visit_datetime(self, type_: Any, **kw: Any) -> str:
        """A generic DateTime."""
        return self.visit_TIMESTAMP(type_, **kw)

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """DATETIME is TIMESTAMP."""
        return self.visit_TIMESTAMP(type_, **kw)

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """With or without time zone."""
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    def visit_TIME(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """With or without time zone."""
        return "TIME WITH TIME ZONE" if type_.timezone else "TIME"

    def visit_INTERVAL(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """INTERVAL."""
        return "INTERVAL"

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        """UUID, or text where the type asks for it."""
        return "UUID" if type_.native_uuid else "VARCHAR"

    def visit_JSON(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """JSON."""
        return "JSON"

    visit_JSONB = visit_JSON  # noqa: N815

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """A list, of lists where it has dimensions."""
        return f"{self.process(type_.item_type, **kw)}{'[]' * (type_.dimensions or 1)}"

    def visit_enum(self, type_: Any, **kw: Any) -> str:
        """ENUM with its values, or text where the type asks for it."""
        if not type_.native_enum or not self.dialect.supports_native_enum:
            return "VARCHAR"
        return self.visit_ENUM(type_, **kw)

    def visit_ENUM(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """ENUM with its values; there are no named types."""
        values = ", ".join(map(literal, type_.enums))
        return f"ENUM({values})"

    def visit_TINYINT(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """Eight bits."""
        return "TINYINT"

    def visit_HUGEINT(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        """128 bits."""
        return "HUGEINT"

    def visit_NESTED(self, type_: Nested, **kw: Any) -> str:  # noqa: N802
        """As it was reflected or written."""
        return type_.text
