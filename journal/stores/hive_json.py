"""JSON extraction in Spark's terms: its paths are spelled otherwise, and a text it returns is bare.

    j ->> 'a b'     =  get_json_object(j, '$[''a b'']')
    j -> '$."a.b"'  =  the same, with its quotes where it is a text

A path that is known only when the query runs, and one with wildcards, are refused. Pure.
"""

from __future__ import annotations

import re
from functools import partial

from sqlglot import exp

from journal.stores.calls import refused

_STEP = re.compile(r'\.(?:"([^"]*)"|([^.\["*]+))|\[(\d+)\]|\["([^"]*)"\]')
_BARE = re.compile(r"[^'?\\]+")
_refuse = partial(refused, "Hive", advice="name keys and places from the front, or read the JSON")


def extracted(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``->``, ``->>`` and the functions of the same meaning."""
    path = _path(node.expression)
    if path is None:
        return _refuse("JSON path of this form")(node)
    of = node.this.copy()
    text = exp.Anonymous(this="get_json_object", expressions=[of, exp.Literal.string(path)])
    above = node.parent
    inner = isinstance(above, exp.JSONExtract | exp.JSONExtractScalar) and above.this is node
    if isinstance(node, exp.JSONExtractScalar) or inner:
        return text
    return _quoted(of, path, text)


def _quoted(of: exp.Expr, path: str, text: exp.Expr) -> exp.Expr:
    """JSON is a text with its quotes, and its null is not ours."""
    whole = exp.Anonymous(this="try_parse_json", expressions=[of.copy()])
    part = exp.Anonymous(this="variant_get", expressions=[whole, exp.Literal.string(path)])
    kind = exp.Anonymous(this="schema_of_variant", expressions=[part])
    found = exp.Case(this=kind)
    found = found.when(exp.Literal.string("STRING"), _call("to_json", part.copy()))
    found = found.when(exp.Literal.string("VOID"), exp.Literal.string("null"))
    return found.else_(text)


def _call(name: str, argument: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument])


def _path(node: exp.Expr) -> str | None:
    """A path as Spark spells it; None for what it has none for."""
    steps: list[str | int] | None
    if isinstance(node, exp.JSONPath):
        steps = _parsed(node)
    elif not isinstance(node, exp.Literal):
        return None
    elif not node.is_string:
        steps = [int(node.name)] if node.is_int else None
    elif node.name.startswith("$"):
        steps = _read(node.name[1:])
    else:
        steps = None if node.name.startswith("/") else [node.name]
    if steps is None or any(isinstance(s, str) and not _BARE.fullmatch(s) for s in steps):
        return None
    return "$" + "".join(f"[{s}]" if isinstance(s, int) else f"['{s}']" for s in steps)


def _read(text: str) -> list[str | int] | None:
    steps: list[str | int] = []
    place = 0
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None:
            return None
        quoted, bare, index, bracketed = found.groups()
        names = [n for n in (quoted, bare, bracketed) if n is not None]
        steps.append(int(index) if index is not None else names[0])
        place = found.end()
    return steps


def _parsed(path: exp.JSONPath) -> list[str | int] | None:
    steps: list[str | int] = []
    for part in path.expressions:
        if isinstance(part, exp.JSONPathRoot):
            continue
        step = part.this if isinstance(part, exp.JSONPathKey | exp.JSONPathSubscript) else None
        if not isinstance(step, str | int) or (isinstance(step, int) and step < 0):
            return None
        steps.append(step)
    return steps
