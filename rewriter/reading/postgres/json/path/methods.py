"""Methods of SQL/JSON in DuckDB's SQL: size, type, double, abs, floor, ceiling, keyvalue. Pure."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.reading.postgres.json.path.items import (
    EXTRACT,
    NO_ITEMS,
    Items,
    Surroundings,
    failure,
    is_array,
    kind,
    mapped,
    raised,
    text_in,
)
from rewriter.reading.postgres.json.path.numbers import magnitude, next_whole, plain
from rewriter.reading.postgres.json.path.predicates import Unsaid

Make = Callable[[str], Items]
_SHORT = r"\s*[+-]?0*([0-9]{1,15}|[0-9]{0,7}[.]0*[0-9]{1,7}|[0-9]{1,7}[.])\s*"
_LONG = r"\s*[+-]?(0[xX].*|([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?)\s*"
"""Numbers that may have more than 15 digits, of which PostgreSQL keeps no more."""
_ROUGH = "value out of range: .double() of a text with many digits or an exponent, on this store"
_OF_OBJECT = "jsonpath item method .keyvalue() can only be applied to an object"
_NO_ID = "the id that .keyvalue() gives an element of an array is not known on this store"
_TYPES = {"{": "object", '"': "string", "t": "boolean", "n": "null", "0": "number"}


def _type(_: Surroundings) -> Make:
    def make(item: str) -> Items:
        named = " ".join(f"WHEN '{sign}' THEN '\"{name}\"'" for sign, name in _TYPES.items())
        sql = f"CASE WHEN {is_array(item)} THEN '\"array\"' ELSE CASE {kind(item)} {named} END END"
        return Items(sql, is_single=True, is_scalar=True)

    return make


def _size(scope: Surroundings) -> Make:
    def make(item: str) -> Items:
        size = f"CAST(json_array_length({item}) AS VARCHAR)"
        if scope.is_lax:
            sql = f"CASE WHEN {is_array(item)} THEN {size} ELSE '1' END"
            return Items(sql, is_single=True, is_scalar=True)
        other = failure("jsonpath item method .size() can only be applied to an array")
        if scope.ignores:
            sql = f"CASE WHEN {is_array(item)} THEN [{size}] ELSE {NO_ITEMS} END"
            return Items(sql, is_scalar=True)
        sql = f"CASE WHEN {is_array(item)} THEN {size} ELSE {other} END"
        return Items(sql, is_single=True, may_fail=True, is_scalar=True)

    return make


def _numeric(name: str, change: Callable[[str], str]) -> Callable[[Surroundings], Make]:
    other = failure(f"jsonpath item method .{name}() can only be applied to a numeric value")

    def method(_: Surroundings) -> Make:
        def make(item: str) -> Items:
            sql = f"CASE WHEN {kind(item)} = '0' THEN {change(item)} ELSE {other} END"
            return Items(sql, is_single=True, may_fail=True, is_scalar=True)

        return make

    return method


def _double(_: Surroundings) -> Make:
    said = "jsonpath item method .double()"
    other = failure(f"{said} can only be applied to a string or numeric value")
    wrong = failure(
        f"string argument of {said} is not a valid representation of a double precision number"
    )
    beyond = failure(f"numeric argument of {said} is out of range for type double precision")

    def of_text(text: str) -> str:
        number = plain(f"CAST(CAST(trim({text}) AS DOUBLE) AS VARCHAR)")
        number = f"regexp_replace(regexp_replace({number}, '[.]0$', ''), '^-0$', '0')"
        return (
            f"CASE WHEN regexp_full_match({text}, '{_SHORT}') THEN {number}"
            f" WHEN regexp_full_match({text}, '{_LONG}') THEN {raised(_ROUGH)} ELSE {wrong} END"
        )

    def make(item: str) -> Items:
        sql = (
            f"CASE {kind(item)} WHEN '0'"
            f" THEN CASE WHEN isinf(CAST({item} AS DOUBLE)) THEN {beyond} ELSE {item} END"
            f" WHEN '\"' THEN {of_text(text_in(item))} ELSE {other} END"
        )
        return Items(sql, is_single=True, may_fail=True, is_scalar=True)

    return make


def _datetime(_: Surroundings) -> Make:
    raise Unsaid(".datetime() in a JSON path", "cast the value, as in (j ->> 'a')::date")


def key_values(scope: Surroundings, is_hidden: bool, is_whole: bool) -> Make:
    """``.keyvalue()``; an ``id`` that is not hidden is known of the whole value alone."""
    if not is_hidden and not is_whole:
        raise Unsaid(
            ".keyvalue() of a part of a value, of which PostgreSQL's id depends on the place",
            "write .keyvalue().key and .keyvalue().value",
        )

    def make(item: str) -> Items:
        def pairs(value: str) -> str:
            parts = f"list_zip(json_keys({value}), CAST({EXTRACT}({value}, '$.*') AS VARCHAR[]))"
            return mapped(
                parts,
                scope,
                lambda p: (
                    '\'{"id": 0, "key": \' || CAST(to_json(struct_extract_at('
                    f"{p}, 1)) AS VARCHAR) || ', \"value\": ' || struct_extract_at({p}, 2) || '}}'"
                ),
            )

        other = f"[{failure(_OF_OBJECT)}]"
        if not is_hidden and scope.is_lax:
            unknown = f"CASE WHEN json_array_length({item}) > 0 THEN {raised(_NO_ID)} END"
            other = (
                f"CASE WHEN {is_array(item)} AND {unknown} IS NULL THEN {NO_ITEMS} ELSE {other} END"
            )
        sql = f"CASE WHEN starts_with({item}, '{{') THEN {pairs(item)} ELSE {other} END"
        return Items(sql, may_fail=True)

    return make


OF_ARRAYS = frozenset({"type", "size"})
"""Methods for which an array does not stand for its elements."""
METHODS: dict[str, Callable[[Surroundings], Make]] = {
    "type": _type,
    "size": _size,
    "double": _double,
    "abs": _numeric("abs", magnitude),
    "floor": _numeric("floor", lambda item: next_whole(item, up=False)),
    "ceiling": _numeric("ceiling", lambda item: next_whole(item, up=True)),
    "datetime": _datetime,
}
