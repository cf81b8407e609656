"""Where in a row an identifier stands: a column, and the way into it.

    email              a column
    profile.email      a field of a struct
    contacts[].mail    a field of each element of an array
    ids{}              the values of a map          ids{keys}  its keys

As SQL it is walked here, where rows are matched; over Arrow in ``values``, where filters are built.
Pure: no I/O, no Arrow.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.sql.relations import column, ident

EACH, VALUES, KEYS = "[]", "{}", "{keys}"
_STEP = re.compile(r'\.(?:"((?:[^"]|"")+)"|([^\s.\[\]{}"]+))|(\[\])|(\{\})|(\{keys\})')
_ROOT = re.compile(r'(?:"((?:[^"]|"")+)"|([^\s.\[\]{}",()]+))')
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_STEPS_MAX = 16


@dataclass(frozen=True, slots=True)
class Path:
    """A column and the steps into it; a step is a field's name after a dot, or EACH, VALUES, KEYS.

    Over a table's definition ``root`` is a logical name, over its files a physical one.
    """

    root: str
    steps: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        """True if a row may have several values at this path."""
        return any(not step.startswith(".") for step in self.steps)

    def __str__(self) -> str:
        fields = [s if s in {EACH, VALUES, KEYS} else "." + _path_name(s[1:]) for s in self.steps]
        return _path_name(self.root) + "".join(fields)


def parse_path(text: str) -> Path:
    """The path written as ``text``; raises ValueError."""
    found = _ROOT.match(text)
    if found is None:
        raise ValueError(f"{text!r} does not begin with a column")
    steps: list[str] = []
    position = found.end()
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None or len(steps) == _STEPS_MAX:
            raise ValueError(f"{text[position:]!r} does not lead into a column")
        quoted, bare, *_ = step.groups()
        field = quoted.replace('""', '"') if quoted else bare
        steps.append("." + field if field else step.group())
        position = step.end()
    quoted, bare = found.groups()
    return Path(quoted.replace('""', '"') if quoted else bare, tuple(steps))


def leaf_type(kind: exp.DataType, path: Path) -> exp.DataType | None:
    """The type of the values at a path into a column of type ``kind``; None if there is no way."""
    for step in path.steps:
        found: exp.Expr | None
        inner = kind.expressions
        if step.startswith(".") and kind.is_type(exp.DType.STRUCT):
            fields = {f.name.casefold(): f.args["kind"] for f in inner}
            found = fields.get(step[1:].casefold())
        elif step == EACH and kind.is_type(exp.DType.ARRAY, exp.DType.LIST):
            found = inner[0] if inner else None
        elif step in {VALUES, KEYS} and kind.is_type(exp.DType.MAP):
            found = inner[step == VALUES]
        else:
            found = None
        if not isinstance(found, exp.DataType):
            return None
        kind = found
    return kind


def values_sql(path: Path, of: str | None = None) -> exp.Expr:
    """The value at a path, or the list of values if there may be several."""
    value: exp.Expr = column(path.root, of)
    many = False
    for step in path.steps:
        if step.startswith("."):
            name = exp.Literal.string(step[1:])
            value = (
                _each(value, "struct_extract", name)
                if many
                else _call("struct_extract", value, name)
            )
            continue
        inner = {EACH: "", VALUES: "map_values", KEYS: "map_keys"}[step]
        if many:
            value = _call("flatten", _each(value, inner) if inner else value)
        elif inner:
            value = _call(inner, value)
        many = True
    return value


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _each(values: exp.Expr, function: str, *more: exp.Expr) -> exp.Expr:
    item = ident("x")
    body = _call(function, exp.column(item.copy()), *more)
    return _call("list_transform", values, exp.Lambda(this=body, expressions=[item]))


def _path_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'
