"""JSON extraction in Spark's terms: its paths are spelled otherwise, and a text it returns is bare.

    j ->> 'a b'     =  get_json_object(j, '$[''a b'']')
    j -> '$."a.b"'  =  the same, with its quotes where it is a text

Spark takes what is no JSON for nothing, so what is not known to be JSON is checked; it is an error
then, and so are keys that an object has twice, NaN, and a comma before a closing bracket.
A path that is known only when the query runs, and one with wildcards, are refused. Pure.
"""

from __future__ import annotations

import re
from functools import partial

from sqlglot import exp

from journal.sql.builders import call, fill
from journal.sql.calls import Change, refused
from journal.stores.hive.dialect.known_types import ColumnsOf, KnownTypes, is_nested

_NOTE = "palimpsest_is_json"
_READERS = (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONType, exp.JSONKeys, exp.Cast)
_CALLS = frozenset({"json_array_length", "json_valid", "json_exists"})
"""Readers that the parser does not know."""
UNKNOWN = tuple(
    "json_array json_contains json_deep_merge json_each json_group_array json_group_object"
    " json_group_structure json_insert json_merge_patch json_merge_patch_diff json_normalize"
    " json_object json_pretty json_quote json_remove json_replace json_serialize_sql json_set"
    " json_strip_nulls json_structure json_transform json_transform_strict json_tree json_value"
    " array_to_json row_to_json from_json_strict".split()
)
"""Functions of the canonical dialect that Spark lacks, or has with another meaning."""
UNKNOWN_KINDS: dict[type[exp.Expr], str] = {
    exp.JSONArray: "json_array",
    exp.JSONObject: "json_object",
    exp.JSONRemove: "json_remove",
    exp.JSONSet: "json_set",
    exp.JSONStripNulls: "json_strip_nulls",
    exp.JSONValue: "json_value",
}
"""Those of them that the parser knows."""
_ONCE = "palimpsest_counted"
_NESTED = "palimpsest_of_nested"
_CAST = "palimpsest_to_json"
_KIND = f"""
    CASE WHEN name LIKE 'OBJECT%' THEN 'OBJECT' WHEN name LIKE 'ARRAY%' THEN 'ARRAY'
         WHEN name LIKE 'STRING' THEN 'VARCHAR' WHEN name LIKE 'VOID' THEN 'NULL'
         WHEN name LIKE 'BOOLEAN' THEN 'BOOLEAN'
         WHEN REGEXP_MATCHES(text, '^-?[0-9]+$')
              AND TRY_CAST(text AS DECIMAL(38, 0)) BETWEEN {-(2**63)} AND {2**64 - 1}
         THEN CASE WHEN TRY_CAST(text AS DECIMAL(38, 0)) < 0 THEN 'BIGINT' ELSE 'UBIGINT' END
         WHEN NOT name IS NULL THEN 'DOUBLE' END
"""
"""What JSON_TYPE calls a value of which Spark knows a variant's name."""
_STEP = re.compile(r'\.(?:"([^"]*)"|([^.\["*]+))|\[(\d+)\]|\["([^"]*)"\]')
_BARE = re.compile(r"[^'?\\]+")
_refuse = partial(refused, "Hive", advice="name keys and places from the front, or read the JSON")


def note_json(tree: exp.Expr, columns_of: ColumnsOf) -> None:
    """Note at what reads JSON where that is a column of JSON, whose texts were checked."""
    known = KnownTypes(columns_of)
    for node in list(tree.walk()):
        is_call = isinstance(node, exp.Anonymous) and str(node.this).lower() in _CALLS
        if isinstance(node, _READERS) or (is_call and node.expressions):
            kind = known.of(node.expressions[0] if is_call else node.this)
            node.meta[_NOTE] = kind is not None and kind.this is exp.DType.JSON
            node.meta[_NESTED] = is_nested(kind)


def note_cast(node: exp.Cast) -> None:
    """Note that a cast is one to JSON, before that is a text like others."""
    node.meta[_CAST] = node.to.this is exp.DType.JSON


def extracted(node: exp.Expr) -> exp.Expr | None:
    """What stands for ``->``, ``->>`` and the functions of the same meaning.

    One that reads what another gives waits for that one, which goes the whole way.
    """
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if isinstance(above, exp.JSONExtract | exp.JSONExtractScalar):
        if isinstance(node, exp.JSONExtract) and above.this.unnest() is node:
            return None
    first: exp.Expr = node
    paths = [_path(node.expression)]
    while isinstance(inner := first.this.unnest(), exp.JSONExtract):
        first = inner
        paths.insert(0, _path(first.expression))
    if None in paths:
        return _refuse("JSON path of this form")(node)
    path = "$" + "".join(str(part)[1:] for part in paths)
    of = _checked(first, first.this)
    text = call("get_json_object", of, path)
    if isinstance(node, exp.JSONExtractScalar):
        return text
    found = _json_text(of, path, text)
    found.meta[_NOTE] = True
    return found


def _json_text(of: exp.Expr, path: str, text: exp.Expr) -> exp.Expr:
    """JSON is a text with its quotes, and its null is not ours."""
    part = _part(of, path)
    quoted = "CASE kind WHEN 'STRING' THEN quoted WHEN 'VOID' THEN 'null' ELSE bare END"
    kind = call("schema_of_variant", part)
    return fill(quoted, kind=kind, quoted=call("to_json", part), bare=text)


def _part(of: exp.Expr, path: str) -> exp.Expr:
    return call("variant_get", call("try_parse_json", of), path)


def kind(node: exp.Expr) -> exp.Expr | None:
    """What stands for JSON_TYPE: integers are told by their sign, and others are doubles."""
    given = node.args.get("expression")
    path = "$" if given is None else _path(given)
    if path is None:
        return _refuse("JSON path of this form")(node)
    of = _checked(node, node.this)
    return fill(
        _KIND,
        name=call("schema_of_variant", _part(of, path)),
        text=call("get_json_object", of, path),
    )


def keys(node: exp.Expr) -> exp.Expr | None:
    """What stands for JSON_KEYS: what is no object has none."""
    return _of_each(node, node.this, node.args.get("expression"), "json_object_keys", exp.Array())


def length(node: exp.Expr) -> exp.Expr | None:
    """What stands for JSON_ARRAY_LENGTH: what is no array has none."""
    of, *paths = node.expressions
    given = paths[0] if paths else None
    return _of_each(node, of, given, "json_array_length", exp.Literal.number(0))


def valid(node: exp.Expr) -> exp.Expr | None:
    """What stands for JSON_VALID: what is JSON already is valid, and of texts Spark knows less."""
    if len(node.expressions) != 1:
        return None
    (of,) = node.expressions
    if not _is_known(node, of):
        advice = "TRY_CAST(x AS JSON) IS NOT NULL takes no NaN, no comma at an end, no key twice"
        return refused("Hive", "json_valid() of texts", advice)(node)
    return fill("CASE WHEN NOT x IS NULL THEN TRUE END", x=of)


def exists(node: exp.Expr) -> exp.Expr | None:
    """What stands for JSON_EXISTS: a null of JSON's is there."""
    if len(node.expressions) != 2:
        return None
    of, given = node.expressions
    path = _path(given) if given.is_string else None
    if path is None:
        return _refuse("json_exists() with a path of this form")(node)
    text = _checked(node, of)
    part = call("variant_get", call("parse_json", text), path)
    return fill("CASE WHEN NOT x IS NULL THEN NOT part IS NULL END", x=text, part=part)


def unknown(name: str) -> Change:
    """Refuses a function that is not there."""
    advice = (
        "read parts with -> and ->>, and compare those, or hold small tables in the gateway"
        " (held_rows in the URL), which has it"
    )
    return refused("Hive", f"{name}()", advice)


def _of_each(
    node: exp.Expr, of: exp.Expr, given: exp.Expr | None, name: str, none: exp.Expr
) -> exp.Expr | None:
    if node.meta.get(_ONCE):
        return None
    path = "$" if given is None else _path(given)
    if path is None:
        return _refuse("JSON path of this form")(node)
    text = _checked(node, of)
    if given is not None:
        text = call("get_json_object", text, path)
    counted = call(name, text)
    counted.meta[_ONCE] = True
    counting = "CASE WHEN x IS NULL THEN NULL ELSE COALESCE(n, nothing) END"
    return fill(counting, x=text, n=counted, nothing=none)


def cast(node: exp.Expr) -> exp.Expr | None:
    """What stands for a cast to JSON; None for other casts, and where it is JSON already."""
    if not node.meta.get(_CAST) or node.meta.get(_NOTE):
        return None
    if node.meta.get(_NESTED):
        advice = "read the value, or write its members as text"
        return refused("Hive", "casts of lists and structs to JSON", advice)(node)
    text = exp.cast(node.this.copy(), "TEXT")
    if isinstance(node, exp.TryCast):
        return exp.Case().when(_is_json(text), text.copy())
    return _checked(node, text, "Malformed JSON when casting: ")


def _is_known(node: exp.Expr, of: exp.Expr) -> bool:
    """True for a text that is known to be JSON."""
    return bool(node.meta.get(_NOTE) or of.unnest().meta.get(_NOTE))


def _checked(node: exp.Expr, of: exp.Expr, wrong: str = "Malformed JSON: ") -> exp.Expr:
    """A text, or an error if it is no JSON; what was extracted from JSON, with quotes, is."""
    if _is_known(node, of):
        return of.copy()
    failing = call("raise_error", call("concat", wrong, of))
    checking = "CASE WHEN x IS NULL OR fine THEN x ELSE failing END"
    return fill(checking, x=of, fine=_is_json(of), failing=failing)


def _is_json(text: exp.Expr) -> exp.Expr:
    """True for one JSON value: Spark ignores what comes after one, unless it is within another."""
    lists, objects = (
        call("try_parse_json", call("concat", before, text, after))
        for before, after in (("[", "]"), ('{"v":', "}"))
    )
    return fill("NOT (a IS NULL) AND NOT (b IS NULL)", a=lists, b=objects)


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
