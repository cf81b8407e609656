"""Every function of the embedded store has an answer on PostgreSQL, the same one, or a refusal.

The names and their examples are the embedded store's own, so that a new version of it is found
here. What is neither answered nor refused by name would be the server's word for it (42883).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from sqlglot import ParseError, exp

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.postgres.dialect.functions import CALLS
from journal.stores.postgres.dialect.unsupported_functions import NAMES
from rewriter.functions import reaches_outside
from tests.support.postgres import Cluster
from tests.support.values import tagged

pytestmark = pytest.mark.stores

# Collations, and functions over types that no table has or of the catalogs of both systems.
_ASIDE = re.compile(
    r"\W|(icu_)?(collate|sort)_|variant_|st_|struct|map|enum_|union_|pg_|has_|inet_|\w+_description$"
)
# Their answers are of the moment, of the server, or in any order.
_OWN_ANSWERS = re.compile(
    r"now|random|uuid|uuidv4|gen_random_uuid|version|txid_current|transaction_timestamp"
    r"|get_current_timestamp|current_(database|schema|schemas|query)|(list|array)_distinct"
)
# Lists are texts to these, and moments after the year 9999 no moments.
_KNOWN = ("concat([1, 2, 3]", "make_timestamp_ms(1732117793000000)", "array_extract('DuckDB'")
_BY_NAME = (
    "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
    " WHERE function_type IN ('scalar', 'aggregate', 'macro')"
    " AND regexp_matches(function_name, '^[a-zA-Z]\\w*$') ORDER BY 1"
)
_EXAMPLES = (
    "SELECT DISTINCT lower(function_name), unnest(examples) FROM duckdb_functions()"
    " WHERE function_type IN ('scalar', 'aggregate', 'macro') ORDER BY ALL"
)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Connection]:
    """An embedded warehouse."""
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        yield con


def _is_known_to_the_parser(name: str) -> bool:
    for arguments in ("", "x", "x, y", "x, y, z"):
        try:
            call: exp.Expr = exp.maybe_parse(f"{name}({arguments})", dialect="duckdb")
        except ParseError:
            continue
        if not isinstance(call, exp.Anonymous) or reaches_outside(call):
            return True
    return False


def test_each_name_is_answered_or_refused(cluster: Cluster, database: str) -> None:
    with psycopg.connect(cluster.conninfo(database)) as server:
        there = {name for (name,) in server.execute("SELECT proname FROM pg_proc").fetchall()}
    known = there | NAMES | set(CALLS.by_name) | set(CALLS.renamed)
    names = [name for (name,) in duckdb.execute(_BY_NAME).fetchall() if not _ASIDE.match(name)]
    assert len(names) > 400
    lost = [name for name in names if name not in known and not _is_known_to_the_parser(name)]
    assert lost == []


@pytest.mark.timeout(240)
def test_each_example_is_answered_alike_or_refused(con: Connection, embedded: Connection) -> None:
    found = []
    for name, example in duckdb.execute(_EXAMPLES).fetchall():
        if _ASIDE.match(name) or example.startswith(_KNOWN):
            continue
        sql = f"SELECT {example}"
        try:
            wanted = embedded.execute(sql).fetchall()
        except gateway.Error:
            continue
        try:
            got = con.execute(sql).fetchall()
        except gateway.NotSupportedError:
            continue
        except gateway.Error as error:
            found.append(f"{sql}: {error}")
            continue
        if _shown(got) != _shown(wanted) and not _OWN_ANSWERS.fullmatch(name):
            found.append(f"{sql}: {got} instead of {wanted}")
    assert found == []


def _shown(rows: list[tuple[object, ...]]) -> list[list[str]]:
    return [[tagged(value) for value in row] for row in rows]


def test_a_function_of_an_extension_is_taken(
    con: Connection, cluster: Cluster, database: str
) -> None:
    sql = "SELECT jaro_similarity('duck', 'db')"
    with pytest.raises(gateway.NotSupportedError, match=r"PAL-110.*jaro_similarity.*client"):
        con.execute(sql)
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION jaro_similarity(text, text) RETURNS integer LANGUAGE sql AS 'SELECT 3'"
        )
    assert con.execute(sql).fetchall() == [(3,)]
    with pytest.raises(gateway.ProgrammingError, match=r"PAL-208.*nosuch"):
        con.execute("SELECT nosuch(1)")
