"""The fields of an error that name what a row violates, as PostgreSQL sends them.

ORMs find by them which field of a form to complain of, and some by the message. The rewriter
writes each of these messages in one place (``writing/guards``, ``writing/references``); what has
another form gets none. Pure.
"""

from __future__ import annotations

import re

from gateway.servers.pg_catalog.definitions import quote_name
from journal.model.errors import Code, PalimpsestError

_TABLE = r"(?P<schema>[^.]+)\.(?P<table>.+)"
_DUPLICATE = re.compile(
    rf'duplicate key \((?P<columns>.*)\) = \((?P<values>.*)\) violates "(?P<name>.+)" of {_TABLE}',
    re.DOTALL,
)
_NULL = re.compile(rf'null in column "(?P<column>.+)" of {_TABLE}, which is NOT NULL')
_CHECK = re.compile(
    r'a row violates check "(?P<name>.+?)" of (?P<schema>[^.]+)\.(?P<table>[^:]+):'
    r" (?P<condition>.*)",
    re.DOTALL,
)
_NO_PARENT = re.compile(
    r"foreign key \((?P<columns>.*)\) = \((?P<values>.*)\) violates"
    r' "(?P<name>.+)" of (?P<schema>[^.]+)\.(?P<table>[^:]+): [^.]+\.(?P<parent>.+) has no such .*',
    re.DOTALL,
)
_CHILDREN = re.compile(
    r"key \((?P<columns>.*)\) = \((?P<values>.*)\) of [^.]+\.(?P<parent>.+) cannot go:"
    rf' "(?P<name>.+)" of {_TABLE} refers to it',
    re.DOTALL,
)
_DOMAIN = re.compile(
    r'value for domain (?:public\.)?(?P<type>.+) violates check constraint "(?P<name>.+)"'
)
_FORMS = {
    Code.DUPLICATE_KEY: (
        (
            _DUPLICATE,
            'duplicate key value violates unique constraint "{name}"',
            "Key ({columns})=({values}) already exists.",
        ),
    ),
    Code.NOT_NULL: (
        (
            _NULL,
            'null value in column "{column}" of relation "{table}" violates not-null constraint',
            "",
        ),
    ),
    Code.CHECK: (
        (_CHECK, 'new row for relation "{table}" violates check constraint "{name}"', ""),
        (_DOMAIN, 'value for domain {type} violates check constraint "{name}"', ""),
    ),
    Code.FOREIGN_KEY: (
        (
            _NO_PARENT,
            'insert or update on table "{table}" violates foreign key constraint "{name}"',
            'Key ({columns})=({values}) is not present in table "{parent}".',
        ),
        (
            _CHILDREN,
            (
                'update or delete on table "{parent}" violates foreign key constraint "{name}"'
                ' on table "{table}"'
            ),
            'Key ({columns})=({values}) is still referenced from table "{table}".',
        ),
    ),
}
_LETTERS = {"schema": "s", "table": "t", "column": "c", "name": "n"}


def constraint_fields(error: PalimpsestError) -> dict[str, str]:
    """Message, schema, table, column, constraint and detail, by the letters of the protocol."""
    for form, words, detail in _FORMS.get(error.code, ()):
        found = form.fullmatch(error.message)
        if found is None:
            continue
        parts = found.groupdict()
        if "columns" in parts:
            parts["columns"] = ", ".join(map(quote_name, parts["columns"].split(", ")))
        fields = {letter: parts[name] for name, letter in _LETTERS.items() if name in parts}
        fields["M"] = f"{words.format_map(parts)} ({error.code.value.code})"
        if "condition" in parts:
            fields["H"] = f"{error.advice}: {parts['condition']}"
        return fields | ({"D": detail.format_map(parts)} if detail else {})
    return {}
