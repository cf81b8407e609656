"""Which tables erasures reach: the onboarded ones that an allow list names and no deny list.

Patterns as ``hr.*`` or ``*.people``; a name alone is that of a table of the home schema where there
is one, else of a schema. They are compared without regard to case, and kept in the store's own
properties. Without any list every onboarded table is reached.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import TableName, fold
from journal.model.store_session import StoreSession
from journal.records import catalog_format as rows_of

_KEY = "erasure_scope"


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """Patterns of schema.table."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()

    def why_not(self, name: TableName) -> str | None:
        """Why a table is not reached; None if it is."""
        shown = ".".join(name.key)
        denied = next((p for p in self.deny if _matches(shown, p)), None)
        if denied is not None:
            return f"denied by {denied}"
        if not any(_matches(shown, p) for p in self.allow):
            return "not on the allow list"
        return None


def spelled_out(pattern: str, tables: Collection[TableName], home: str) -> str:
    """A pattern with its schema: a name alone may be that of a table, if no schema has it."""
    if "." in pattern or pattern == "*":
        return pattern
    name = fold(pattern)
    is_schema = any(fnmatchcase(table.key[0], name) for table in tables)
    is_table = any(table.key[0] == home and fnmatchcase(table.key[1], name) for table in tables)
    return f"{home}.{pattern}" if is_table and not is_schema else pattern


def matches_nothing(pattern: str, tables: Iterable[TableName]) -> bool:
    """True for a pattern that no table fits."""
    return not any(_matches(".".join(table.key), pattern) for table in tables)


def _matches(name: str, pattern: str) -> bool:
    whole = pattern if "." in pattern or pattern == "*" else f"{pattern}.*"
    return fnmatchcase(name, fold(whole))


def load_scope(session: StoreSession) -> ErasureScope:
    """The lists of a store."""
    text = rows_of.get_meta(session, _KEY)
    if text is None:
        return ErasureScope()
    lists = json.loads(text)
    return ErasureScope(tuple(lists["allow"]), tuple(lists["deny"]))


def put_scope(session: StoreSession, allow: Sequence[str], deny: Sequence[str]) -> ErasureScope:
    """Set the lists of a store; raises ERASURE for a pattern that no table can match."""
    for pattern in (*allow, *deny):
        if not all(part.strip() for part in pattern.split(".")) or pattern.count(".") > 1:
            raise PalimpsestError(
                Code.ERASURE,
                f'"{pattern}" is not a pattern of table names',
                advice="write a schema, or schema and table: hr, hr.*, *.people, *",
            )
    scope = ErasureScope(tuple(allow) or ("*",), tuple(deny))
    lists = {"allow": scope.allow, "deny": scope.deny}
    rows_of.put_meta(session, _KEY, json.dumps(lists))
    return scope
