"""SET search_path: the schemas in which names are looked up that give none, in order. Pure."""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError

_USER = "$user"
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^",\s][^",]*?))\s*(?:,|$)')


def schemas_of(value: exp.Expr, user: str | None) -> tuple[str, ...]:
    """The schemas a SET names; ``"$user"`` is the one called as the user.

    Raises SETTING_VALUE for what is no list of names.
    """
    items = value.expressions if isinstance(value, exp.Tuple) else [value]
    found: list[str] = []
    for item in items:
        if isinstance(item, exp.Literal) and item.is_string:
            found += _split_path(str(item.name))
        elif isinstance(item, exp.Column | exp.Identifier | exp.Var) and item.name:
            found.append(str(item.name))
        else:
            raise _path_error(item.sql())
    return tuple((user or name) if name == _USER else name for name in found)


def _split_path(text: str) -> list[str]:
    """The names in a text, as the embedded store takes a path."""
    if not text.strip():
        # Names are looked up in no schema at all.
        return [""]
    found: list[str] = []
    place = 0
    while place < len(text):
        name = _NAME.match(text, place)
        if name is None:
            raise _path_error(repr(text))
        found.append(name[1].replace('""', '"') if name[1] is not None else name[2])
        place = name.end()
    if not found:
        raise _path_error(repr(text))
    return found


def _path_error(given: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SETTING_VALUE,
        f"search_path needs names of schemas, not {given}",
        advice="separate them by commas: SET search_path = hr, public",
    )
