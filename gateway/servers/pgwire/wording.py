"""Messages in PostgreSQL's words, by which programs know errors that they expect. Pure.

Migrations look for ``relation "t" does not exist`` or ``already exists``, and ORMs for ``violates
unique constraint``. Names of the schema ``public`` stand alone, as clients mostly write them.
"""

from __future__ import annotations

import re

_RELATIONS = frozenset({"table", "view", "sequence", "index"})
_NAME = r"(?:public\.)?(?P<name>[^:]+?)"
_KIND = r"(?P<kind>table|view|sequence|schema|type|function|macro)"
_MISSING = re.compile(rf"{_KIND} {_NAME} does not exist")
_PRESENT = re.compile(rf"(?:{_KIND} )?{_NAME} exists already(?P<rest>: it is an index)?")
_NO_COLUMN = re.compile(rf'column (?P<column>".+") of {_NAME} does not exist')
_FORMS = (
    (_NO_COLUMN, 'column {column} of relation "{name}" does not exist'),
    (re.compile(r'"(?P<name>.+)" has no column "(?P<column>.+)"'), "column {name}.{column} {no}"),
    (
        re.compile(r'"(?P<name>.+)" names no table of this query'),
        'missing FROM-clause entry for table "{name}"',
    ),
    (re.compile(r"(?s:Division by zero\b.*)"), "division by zero"),
)


def postgres_wording(message: str) -> str:
    """The message as PostgreSQL would write it; as it is where it has no such words."""
    for pattern, ending in ((_MISSING, "does not exist"), (_PRESENT, "already exists")):
        found = pattern.fullmatch(message)
        if found is not None:
            kind, name = found["kind"], found["name"].strip('"')
            shown = "relation" if kind is None or kind in _RELATIONS else kind
            is_plain = shown in {"function", "macro"} or " " in found["name"]
            return f"{shown} {name} {ending}" if is_plain else f'{shown} "{name}" {ending}'
    for pattern, form in _FORMS:
        found = pattern.fullmatch(message)
        if found is not None:
            return form.format(**found.groupdict(), no="does not exist")
    return message.replace(" exists already", " already exists")
