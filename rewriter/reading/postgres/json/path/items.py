"""Pieces of DuckDB's SQL about items of SQL/JSON and sequences of them. Pure.

An item is a text of JSON without blanks around it. A text that begins with ``!`` stands for an
error in its place, and says what is wrong: what comes behind it in a sequence does not count.
Texts of SQL are put together here, and parsed once when they are whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import count

from journal.model.lazy_dataclass import dataclass
from rewriter.reading.postgres.json.json import key_path

EXTRACT = "palimpsest_extract"
EXTRACT_TEXT = "palimpsest_extract_text"
"""Stand for functions of DuckDB that the parser would take for operators."""
NO_ITEMS = "CAST([] AS VARCHAR[])"
_NAME = re.compile(r"_palimpsest_item\d+|struct_extract\(_palimpsest_item\d+, '.'\)")
_MANY = 2**31 - 1
_KINDS = "'[f-123456789', '{t0000000000'"


@dataclass(frozen=True, slots=True)
class Items:
    """SQL of a list of items or, if ``is_single``, of one item.

    ``may_fail``: there may be errors among them. ``is_scalar``: there are no objects and arrays.
    """

    sql: str
    is_single: bool = False
    may_fail: bool = False
    is_scalar: bool = False

    @property
    def items(self) -> str:
        """SQL of the list."""
        return f"[{self.sql}]" if self.is_single else self.sql


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a part of a path sees.

    ``root``, ``current`` and ``last`` are SQL of ``$``, ``@`` and ``last``; ``variables`` is of an
    object, or None where all variables are null. Where it ``ignores`` missing members and elements
    they are no errors; where it is ``silent`` an error ends the sequence, and no more.
    """

    is_lax: bool
    ignores: bool
    silent: bool
    root: str
    current: str = ""
    last: str | None = None
    variables: str | None = None
    numbers: Iterator[int] = field(default_factory=count)

    def new_name(self) -> str:
        """A name for a variable of a lambda."""
        return f"_palimpsest_item{next(self.numbers)}"


def literal(text: str) -> str:
    """A text as a constant of SQL."""
    return "'" + text.replace("'", "''") + "'"


def failure(message: str) -> str:
    """SQL of what stands for an error."""
    return literal(f"!{message}")


def raised(message: str) -> str:
    """SQL that fails at once, also where errors are suppressed."""
    return f"error({literal(message)})"


def is_failure(item: str) -> str:
    """A condition: an item stands for an error."""
    return f"starts_with({item}, '!')"


def let(value: str, scope: Surroundings, make: Callable[[str], str]) -> str:
    """SQL in which a value has a name, so that it is computed once.

    Each lambda within another doubles the time that a store plans: repeat what is short.
    """
    if is_name(value):
        return make(value)
    name = scope.new_name()
    return f"list_extract(list_transform([{value}], LAMBDA {name}: {make(name)}), 1)"


def let_both(values: tuple[str, str], scope: Surroundings, make: Callable[[str, str], str]) -> str:
    """The same of two values."""
    packed = f"struct_pack(a := {values[0]}, b := {values[1]})"
    return let(
        packed, scope, lambda v: make(f"struct_extract({v}, 'a')", f"struct_extract({v}, 'b')")
    )


def is_name(sql: str) -> bool:
    """True for SQL that is a variable of a lambda, or a part of one."""
    return _NAME.fullmatch(sql) is not None


def mapped(items: str, scope: Surroundings, make: Callable[[str], str]) -> str:
    """A list of what is made of each element of one."""
    name = scope.new_name()
    return f"list_transform({items}, LAMBDA {name}: {make(name)})"


def filtered(items: str, scope: Surroundings, condition: Callable[[str], str]) -> str:
    """The elements of a list for which a condition is true."""
    name = scope.new_name()
    return f"list_filter({items}, LAMBDA {name}: {condition(name)})"


def kind(item: str) -> str:
    """SQL of a sign that says what an item is: ``{`` also of arrays, ``"``, t, n, and 0."""
    return f"translate(left({item}, 1), {_KINDS})"


def is_array(item: str) -> str:
    """A condition: an item is an array."""
    return f"starts_with({item}, '[')"


def elements(array: str) -> str:
    """The elements of an array, none of anything else."""
    return f"CAST({EXTRACT}({array}, '$[*]') AS VARCHAR[])"


def values(item: str) -> str:
    """The values of an object, none of anything else."""
    return f"CAST({EXTRACT}({item}, '$.*') AS VARCHAR[])"


def children(item: str) -> str:
    """What an object or an array consists of."""
    return f"list_concat({elements(item)}, {values(item)})"


def member(item: str, key: str) -> str:
    """What an object has under a key; NULL for nothing, and of anything else."""
    return f"CAST({EXTRACT}({item}, {literal(key_path(key))}) AS VARCHAR)"


def text_in(item: str) -> str:
    """The text that an item is."""
    return f"{EXTRACT_TEXT}({item}, '$')"


def opened(item: str) -> str:
    """The elements of an array, and anything else as a list of itself."""
    return f"CASE WHEN {is_array(item)} THEN {elements(item)} ELSE [{item}] END"


def before_failure(items: str) -> str:
    """The items of a list before its first error; no item has the sign that joins them."""
    joined = f"array_to_string(list_concat([''], {items}), chr(1))"
    cut = f"regexp_replace({joined}, '(?s)\\x01!.*$', '')"
    return f"list_slice(string_split({cut}, chr(1)), 2, {_MANY})"


def each(
    found: Items, scope: Surroundings, make: Callable[[str], Items], *, drops: bool = False
) -> Items:
    """What is made of each item, in their order; errors stay where they are.

    ``drops``: what is made may be NULL, or have NULL in it, which stands for nothing.
    """
    if found.is_single and not found.may_fail and is_name(found.sql):
        return _without_null(make(found.sql), scope) if drops else make(found.sql)
    name = scope.new_name()
    made = make(name)
    inner = made.sql
    if found.may_fail:
        left = name if made.is_single else f"[{name}]"
        inner = f"CASE WHEN {is_failure(name)} THEN {left} ELSE {inner} END"
    sql = f"list_transform({found.items}, LAMBDA {name}: {inner})"
    is_single = found.is_single and made.is_single
    if found.is_single:
        sql = f"list_extract({sql}, 1)"
    elif not made.is_single:
        sql = f"flatten({sql})"
    whole = Items(sql, is_single, found.may_fail or made.may_fail, made.is_scalar)
    return _without_null(whole, scope) if drops else whole


def _without_null(found: Items, scope: Surroundings) -> Items:
    given = filtered(found.items, scope, lambda item: f"{item} IS NOT NULL")
    return Items(given, False, found.may_fail, found.is_scalar)


def unwrapped(found: Items, scope: Surroundings) -> Items:
    """The items, in lax mode with the elements of arrays in the place of these."""
    if not scope.is_lax or found.is_scalar:
        return found
    return each(found, scope, lambda item: Items(opened(item)))
