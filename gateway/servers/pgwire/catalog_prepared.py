"""PREPARE of a query on PostgreSQL's catalog, and its EXECUTE, as pg_dump writes them.

The session keeps a statement of the name that gives nothing, so that what it says of names, and
DEALLOCATE and DISCARD, hold for these as well.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.servers.pg_catalog.translation import catalog_queries
from gateway.servers.pgwire.portals import PreparedStatement
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError

_NAME = r"(\w+)"
_PREPARE = re.compile(
    rf"\s*PREPARE\s+{_NAME}\s*(?:\(([^()]*)\))?\s+AS\s+(.*)", re.IGNORECASE | re.DOTALL
)
_EXECUTE = re.compile(rf"\s*EXECUTE\s+{_NAME}\s*(?:\((.*)\))?\s*;?\s*", re.IGNORECASE | re.DOTALL)


class CatalogPrepared:
    """The queries on the catalog that a client has prepared by PREPARE."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._queries: dict[str, tuple[exp.Expr, tuple[str, ...]]] = {}

    def statement(self, text: str) -> PreparedStatement | None:
        """The statement of a text that prepares or executes such a query; None for any other.

        Raises PARAMETERS for another number of values than the query takes.
        """
        found = _PREPARE.fullmatch(text)
        if found is not None:
            return self._prepared(*found.groups())
        found = _EXECUTE.fullmatch(text)
        if found is None or found[1].lower() not in self._queries:
            return None
        if found[1].lower() not in dict(self._session.settings.prepared):
            del self._queries[found[1].lower()]
            return None
        return self._executed(found[1].lower(), found[2], text)

    def _prepared(self, name: str, types: str | None, query: str) -> PreparedStatement | None:
        queries = catalog_queries(query)
        if queries is None or len(queries) > 1:
            return None
        if name.lower() not in dict(self._session.settings.prepared):
            given = tuple(t.strip() for t in types.split(",")) if types else ()
            self._queries[name.lower()] = (queries[0], given)
        (parsed,) = self._session.parse(f"PREPARE {name} AS SELECT NULL")
        return PreparedStatement(parsed.text, parsed)

    def _executed(self, name: str, values: str | None, text: str) -> PreparedStatement | None:
        query, types = self._queries[name]
        try:
            asked = sqlglot.parse_one(f"SELECT {values or ''}", dialect="postgres")
        except SqlglotError:
            return None
        made = query.copy()
        places = [(_number(p), p) for p in made.find_all(exp.Parameter, exp.Placeholder)]
        takes = max((len(types), *(number for number, _ in places)))
        if len(asked.expressions) != takes:
            raise PalimpsestError(
                Code.PARAMETERS,
                f'the prepared statement "{name}" takes {takes} values,'
                f" not {len(asked.expressions)}",
                advice="give one for each of its parameters",
            )
        for number, place in places:
            value = asked.expressions[number - 1].copy()
            if number <= len(types):
                text = f"CAST({value.sql(dialect='postgres')} AS {types[number - 1]})"
                value = sqlglot.parse_one(text, dialect="postgres")
            place.replace(value)
        return PreparedStatement(text, None, catalog=made)


def _number(parameter: exp.Expr) -> int:
    """The 1 of ``$1``."""
    return int(parameter.name or parameter.this.name)
