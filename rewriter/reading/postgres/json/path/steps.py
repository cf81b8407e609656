"""Expressions and steps of a path of SQL/JSON as lists of DuckDB's SQL. Pure.

Lax: a step into an object, a method of a value and a filter take the elements of an array, a step
into an array takes anything else for an array of it, and what is missing is no error.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.reading.postgres.json.path.items import (
    EXTRACT,
    NO_ITEMS,
    Items,
    Surroundings,
    each,
    elements,
    failure,
    filtered,
    is_array,
    is_failure,
    kind,
    let_both,
    literal,
    mapped,
    member,
    opened,
    raised,
    unwrapped,
    values,
)
from rewriter.reading.postgres.json.path.levels import levels
from rewriter.reading.postgres.json.path.methods import METHODS, OF_ARRAYS, key_values
from rewriter.reading.postgres.json.path.nodes import (
    PREDICATES,
    Accessed,
    Binary,
    Constant,
    Current,
    Elements,
    Filter,
    Last,
    Levels,
    Member,
    Members,
    Method,
    Node,
    Root,
    Step,
    Subscripts,
    Unary,
    Variable,
)
from rewriter.reading.postgres.json.path.numbers import computed, negated, single_number
from rewriter.reading.postgres.json.path.places import elements_at
from rewriter.reading.postgres.json.path.predicates import Unsaid, condition


def sequence(node: Node, scope: Surroundings, is_asked: bool = False) -> Items:
    """What a part of a path gives; raises Unsaid.

    ``is_asked``: nobody needs the items, but only whether there is one.
    """
    if isinstance(node, PREDICATES):
        truth = f"COALESCE(CAST({condition(node, scope, sequence)} AS VARCHAR), 'null')"
        return Items(truth, is_single=True, is_scalar=True)
    match node:
        case Root():
            return Items(scope.root, is_single=True)
        case Current():
            return Items(scope.current, is_single=True)
        case Last():
            if scope.last is None:
                raise Unsaid("last behind a step into another array", "write a number for it")
            return Items(f"CAST({scope.last} AS VARCHAR)", is_single=True, is_scalar=True)
        case Constant():
            return Items(literal(node.text), is_single=True, is_scalar=True)
        case Variable():
            return _variable(node, scope)
        case Unary():
            return _unary(node, scope, skips=is_asked and scope.is_lax)
        case Binary():
            return _binary(node, scope)
        case Accessed():
            return _along(
                sequence(node.head, scope), node.steps, scope, isinstance(node.head, Root)
            )


def _variable(node: Variable, scope: Surroundings) -> Items:
    if scope.variables is None:
        return Items("'null'", is_single=True, is_scalar=True)
    unknown = raised(f'could not find jsonpath variable "{node.name}"')
    value = f"COALESCE({member(scope.variables, node.name)}, {unknown})"
    return Items(value, is_single=True)


def _along(
    found: Items, steps: tuple[Step, ...], scope: Surroundings, from_root: bool = False
) -> Items:
    for place, step in enumerate(steps):
        following = steps[place + 1 :]
        if isinstance(step, Method) and step.name == "keyvalue":
            is_hidden = any(isinstance(s, Member) and s.key != "id" for s in following[:1])
            found = unwrapped(found, scope) if is_hidden else found
            found = each(found, scope, key_values(scope, is_hidden, from_root and place == 0))
        else:
            found = _after(found, step, scope)
        if isinstance(step, Levels):
            scope = replace(scope, ignores=True)
            may_fail = _along(Items(NO_ITEMS), following, scope).may_fail
            if step.first == 0 and scope.silent and may_fail:
                raise Unsaid(
                    ".** before a step that may fail, where errors do not count",
                    "write .**{1 to last}",
                )
        if isinstance(step, Subscripts) and scope.last is not None:
            scope = replace(scope, last=None)
    return found


def _after(found: Items, step: Step, scope: Surroundings) -> Items:
    """The items behind a step."""
    match step:
        case Member():
            return _member(found, step.key, scope)
        case Members():
            return each(found, scope, lambda item: _members(item, scope))
        case Elements():
            return each(found, scope, lambda item: _elements(item, scope))
        case Subscripts():
            return each(found, scope, lambda item: elements_at(item, step, scope, sequence))
        case Levels():
            return each(found, scope, lambda item: Items(levels(item, step, scope)))
        case Filter():
            return _filtered(unwrapped(found, scope), step, scope)
        case Method():
            opens = step.name not in OF_ARRAYS
            made = METHODS[step.name](scope)
            return each(unwrapped(found, scope) if opens else found, scope, made)


def _member(found: Items, key: str, scope: Surroundings) -> Items:
    def missing(item: str) -> Items:
        absent = failure(f'JSON object does not contain key "{key}"')
        other = failure("jsonpath member accessor can only be applied to an object")
        value = f"COALESCE({member(item, key)}, {absent})"
        sql = f"CASE WHEN starts_with({item}, '{{') THEN {value} ELSE {other} END"
        return Items(sql, is_single=True, may_fail=True)

    if not scope.ignores:
        return each(found, scope, missing)
    found = unwrapped(found, scope)
    return each(found, scope, lambda item: Items(member(item, key), is_single=True), drops=True)


def _members(item: str, scope: Surroundings) -> Items:
    if scope.is_lax:
        inner = f"CAST({EXTRACT}({item}, '$[*].*') AS VARCHAR[])"
        return Items(f"CASE WHEN {is_array(item)} THEN {inner} ELSE {values(item)} END")
    if scope.ignores:
        return Items(values(item))
    other = failure("jsonpath wildcard member accessor can only be applied to an object")
    sql = f"CASE WHEN starts_with({item}, '{{') THEN {values(item)} ELSE [{other}] END"
    return Items(sql, may_fail=True)


def _elements(item: str, scope: Surroundings) -> Items:
    if scope.is_lax:
        return Items(opened(item))
    if scope.ignores:
        return Items(elements(item))
    other = failure("jsonpath wildcard array accessor can only be applied to an array")
    sql = f"CASE WHEN {is_array(item)} THEN {elements(item)} ELSE [{other}] END"
    return Items(sql, may_fail=True)


def _filtered(found: Items, step: Filter, scope: Surroundings) -> Items:
    def keeps_item(item: str) -> str:
        keeps = condition(step.condition, replace(scope, current=item), sequence)
        if not found.may_fail:
            return keeps
        return f"CASE WHEN {is_failure(item)} THEN TRUE ELSE {keeps} END"

    return Items(filtered(found.items, scope, keeps_item), False, found.may_fail, found.is_scalar)


def _binary(node: Binary, scope: Surroundings) -> Items:
    sides = []
    for side, name in ((node.left, "left"), (node.right, "right")):
        wrong = f"{name} operand of jsonpath operator {node.operator} is not a single numeric value"
        found = unwrapped(sequence(side, scope), scope)
        sides.append(single_number(found, scope, failure(wrong)))

    def result(a: str, b: str) -> str:
        return (
            f"CASE WHEN {is_failure(a)} THEN {a} WHEN {is_failure(b)} THEN {b}"
            f" ELSE {computed(a, b, node.operator, scope)} END"
        )

    sql = let_both((sides[0], sides[1]), scope, result)
    return Items(sql, is_single=True, may_fail=True, is_scalar=True)


def _unary(node: Unary, scope: Surroundings, *, skips: bool) -> Items:
    """The numbers, perhaps with the other sign; ``skips`` leaves out what is none.

    An error of the operand comes first: without all of its items there is none.
    """
    found = unwrapped(sequence(node.operand, scope), scope)
    wrong = failure(f"operand of unary jsonpath operator {node.operator} is not a numeric value")

    def signed(item: str) -> str:
        number = item if node.operator == "+" else negated(item)
        return f"CASE WHEN {kind(item)} = '0' THEN {number} ELSE {wrong} END"

    if skips:
        made = filtered(found.items, scope, lambda item: f"{kind(item)} = '0'")
    elif found.is_single and not found.may_fail and isinstance(node.operand, Constant):
        return Items(signed(found.sql), is_single=True, may_fail=True, is_scalar=True)
    else:
        made = mapped(found.items, scope, signed)
    if found.may_fail:
        made = f"list_concat({filtered(found.items, scope, is_failure)}, {made})"
    return Items(made, may_fail=found.may_fail or not skips, is_scalar=True)
