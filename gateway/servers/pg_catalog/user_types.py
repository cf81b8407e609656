"""Types and macros of users in ``pg_catalog``: enums with labels, domains, functions. Pure.

Bodies of macros are left out: they name tables that a client may not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.servers.pg_catalog import numbering
from gateway.servers.pg_catalog.definitions import function_definition, quote_name
from gateway.servers.pg_catalog.relations import builtin_types
from gateway.servers.pg_catalog.shown_texts import shown_query
from gateway.servers.pgwire.types import ENUM_SIZE, TEXT, field_of
from journal.model.named_definitions import DOMAIN, ENUM, Macro, MacroBody, UserType
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot, TableName
from rewriter.reading.postgres.type_names import type_name

_ANY, _RECORD, _SQL = 2276, 2249, 14


class UserDefinitions:
    """The types and macros of a catalog, with the numbers that they have."""

    def __init__(self, catalog: CatalogSnapshot) -> None:
        self._catalog = catalog
        found = catalog.definitions.values()
        self._types = [d for d in found if isinstance(d, UserType) and d.kind in (ENUM, DOMAIN)]
        self._macros = [d for d in found if isinstance(d, Macro)]
        self._numbers = {d.name.key: numbering.type_oid(d.name) for d in self._types}

    def number_of(self, declared: str | None) -> tuple[int, bool] | None:
        """The type that a column names, and whether the column holds lists of it."""
        if declared is None:
            return None
        text = declared.removesuffix("[]")
        try:
            table = exp.to_table(text, dialect="postgres")
        except SqlglotError:
            return None
        key = ((table.db or self._catalog.home).lower(), table.name.lower())
        number = self._numbers.get(key)
        return None if number is None else (number, text != declared)

    def enum_number(self, declared: str | None) -> int | None:
        """The number of the enum that a column is of; None for any other column, and for lists."""
        number = self.number_of(declared)
        enums = {self._numbers[found.name.key] for found in self._types if found.kind == ENUM}
        return None if number is None or number[1] or number[0] not in enums else number[0]

    def texts_of(self, oids: Sequence[int]) -> list[int]:
        """Numbers of types, with those of text for enums, and of its arrays for theirs."""
        enums = [self._numbers[found.name.key] for found in self._types if found.kind == ENUM]
        known = dict.fromkeys(enums, TEXT.oid)
        known |= dict.fromkeys(map(numbering.array_oid, enums), TEXT.array)
        return [known.get(oid, oid) for oid in oids]

    def add(self, rows: dict[str, list[dict[str, Any]]], shown: Callable[[str], str]) -> None:
        """Put them into the rows by relation; ``shown`` is what clients read as a schema's name."""
        for found in self._types:
            self._add_type(rows, found)
        for macro in self._macros:
            _add_macro(rows, macro, self._catalog, shown)

    def _add_type(self, rows: dict[str, list[dict[str, Any]]], found: UserType) -> None:
        number = self._numbers[found.name.key]
        schema = numbering.schema_oid(found.name.schema, self._catalog)
        is_enum = found.kind == ENUM
        base = field_of(ResultColumn("", found.type))
        common = {
            "typnamespace": schema, "typowner": numbering.OWNER, "typisdefined": True,
            "typdelim": ",", "typrelid": 0, "typndims": 0, "typispreferred": False,
        }  # fmt: skip
        shown = quote_name(found.name.name)
        if schema != numbering.HOME:
            shown = f"{quote_name(found.name.schema)}.{shown}"
        array = numbering.array_oid(number)
        rows.setdefault("pg_type", []).extend(
            _as_builtin(row)
            for row in (
                {
                    **common, "oid": number, "typname": found.name.name, "typarray": array,
                    "typtype": "e" if is_enum else "d", "typcategory": "E" if is_enum else "S",
                    "typlen": ENUM_SIZE if is_enum else base.size, "typelem": 0,
                    "typbyval": is_enum or base.size > 0, "typnotnull": found.not_null,
                    "typbasetype": 0 if is_enum else base.oid, "typdefault": found.default,
                    "typtypmod": -1 if is_enum else base.modifier, "typalign": "i",
                    "typstorage": "p", "typcollation": 0,
                    "typinput": "enum_in" if is_enum else "domain_in",
                    "typreceive": "enum_recv" if is_enum else "domain_recv",
                },
                {
                    **common, "oid": array, "typname": f"_{found.name.name}", "typarray": 0,
                    "typtype": "b", "typcategory": "A", "typlen": -1, "typelem": number,
                    "typbyval": False, "typnotnull": False, "typbasetype": 0, "typtypmod": -1,
                    "typalign": "i", "typstorage": "x", "typcollation": 0,
                    "typinput": "array_in", "typreceive": "array_recv",
                },
            )
        )  # fmt: skip
        rows.setdefault("shown_types", []).extend(
            ({"oid": str(number), "shown": shown}, {"oid": str(array), "shown": f"{shown}[]"})
        )
        for place, label in enumerate(_labels(found.type) if is_enum else (), 1):
            rows.setdefault("pg_enum", []).append(
                {
                    "oid": numbering.label_oid(number, label), "enumtypid": number,
                    "enumsortorder": float(place), "enumlabel": label,
                }
            )  # fmt: skip


def _as_builtin(row: dict[str, Any]) -> dict[str, Any]:
    """A row of ``pg_type`` whose columns are texts where those of built-in types are."""
    known = builtin_types()[0]
    return {name: str(value) if name in known else value for name, value in row.items()}


def _labels(text: str) -> list[str]:
    """The labels of ``ENUM('a', 'b')``."""
    try:
        kind = exp.DataType.build(text, dialect="duckdb")
    except (SqlglotError, ValueError):
        return []
    return [str(part.name) for part in kind.expressions]


def _add_macro(
    rows: dict[str, list[dict[str, Any]]],
    macro: Macro,
    catalog: CatalogSnapshot,
    shown: Callable[[str], str],
) -> None:
    for number, body in enumerate(macro.bodies):
        arguments, source = len(body.parameters), _source(macro, body, catalog.home)
        oid = numbering.macro_oid(macro.name, number, is_table=macro.is_table)
        is_named = not all(name.startswith("$") for name, _ in body.parameters)
        rows.setdefault("pg_proc", []).append(
            {
                "oid": oid,
                "proname": macro.name.name, "prokind": "f", "prolang": _SQL, "procost": 100.0,
                "pronamespace": numbering.schema_oid(macro.name.schema, catalog),
                "proowner": numbering.OWNER, "prorows": 1000.0 if macro.is_table else 0.0,
                "provariadic": 0, "prosecdef": False, "proleakproof": False, "proisstrict": False,
                "proretset": macro.is_table, "provolatile": "v", "proparallel": "u",
                "pronargs": arguments, "pronargdefaults": arguments - body.required,
                "prorettype": _oid_of(body.returns, _RECORD if macro.is_table else _ANY),
                "proargnames": _shown_names(body) if is_named else None,
                "proargtypes": [_oid_of(kind, _ANY) for kind in body.types] or [_ANY] * arguments,
                "prosupport": "-", "prosrc": source,
            }
        )  # fmt: skip
        if body.is_function:
            texts = _texts(macro, body)
            name = TableName(shown(macro.name.schema), macro.name.name)
            told = (texts["arguments"], texts["result"], "sql", source)
            texts["definition"] = function_definition(name, *told)
            rows.setdefault("function_texts", []).append({"oid": oid, **texts})
        else:
            # PostgreSQL has no words to make one, and pg_dump leaves out what is internal.
            rows.setdefault("pg_depend", []).append(
                {
                    "classid": numbering.CATALOGS["pg_proc"], "objid": oid, "objsubid": 0,
                    "refclassid": numbering.CATALOGS["pg_language"], "refobjid": _SQL,
                    "refobjsubid": 0, "deptype": "i",
                }
            )  # fmt: skip


def _oid_of(kind: str | None, otherwise: int) -> int:
    """The number of a type in canonical words."""
    return otherwise if kind is None else field_of(ResultColumn("", kind)).oid


def _shown_names(body: MacroBody) -> list[str]:
    """The names of parameters; none of those that go by their numbers."""
    return ["" if name.startswith("$") else name for name, _ in body.parameters]


def _source(macro: Macro, body: MacroBody, home: str) -> str:
    """The body of a function as a query; PostgreSQL has no words for that of a macro."""
    if not body.is_function:
        return ""
    return shown_query(body.body if macro.is_table else f"SELECT {body.body}", home)


def _texts(macro: Macro, body: MacroBody) -> dict[str, str]:
    """The parameters of a function, with defaults and without, and what it returns."""
    kinds = [type_name(kind or "any") for kind in body.types]
    named = [f"{n} {k}".strip() for n, k in zip(_shown_names(body), kinds, strict=True)]
    defaults = (default for _, default in body.parameters)
    full = [n if d is None else f"{n} DEFAULT {d}" for n, d in zip(named, defaults, strict=True)]
    result = "record" if body.returns is None else type_name(body.returns)
    return {
        "arguments": ", ".join(full),
        "identity": ", ".join(named),
        "result": f"SETOF {result}" if macro.is_table else result,
    }
