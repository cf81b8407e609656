"""Addresses of networks at random, as the embedded store reads, orders and computes them, beside a
real PostgreSQL.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gateway
from journal.model.errors import PalimpsestError
from journal.sql.network_text import CIDR, INET, network_text

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

_NUMBERS = "0 1 10 255 128 256 01 007 99".split()
_WORDS = "0 0 0 1 ffff abcd 0db8 FFFF 00001 12".split()
_TAILS = "1.2.3.4 0.0.0.0 255.255.1.2 1.2.3 1.2.3.300 01.2.3.4 0.0.0.1".split()
_ODD = ("", " 10.0.0.1", "10.0.0.1 ", "0x0a", "0x0a0b/16", "fe80::1%eth0", "1::2::3", "::", "::/0")
_TRIED = """
    CREATE FUNCTION tried(t text, k text) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
      IF k = 'inet' THEN RETURN format('%s', t::inet); END IF;
      RETURN format('%s', t::cidr);
    EXCEPTION WHEN invalid_text_representation THEN RETURN NULL;
    END $$
"""


def _text(chance: random.Random) -> str:
    """A text that is an address, or nearly."""
    if chance.random() < 0.4:
        found = ".".join(chance.choice(_NUMBERS) for _ in range(chance.choice([4, 4, 4, 3, 2, 5])))
        mask = chance.choice(["", "", "/8", "/16", "/24", "/32", "/0", "/33", "/025"])
        return found + mask
    words = [chance.choice(_WORDS) for _ in range(chance.choice([8, 8, 7, 6, 5, 4, 3, 2, 1]))]
    found = ":".join(words)
    if chance.random() < 0.7:
        place = chance.randrange(len(words) + 1)
        found = f"{':'.join(words[:place])}::{':'.join(words[place:])}"
    if chance.random() < 0.25:
        found += ("" if found.endswith(":") else ":") + chance.choice(_TAILS)
    return found + chance.choice(["", "", "/0", "/16", "/64", "/96", "/127", "/128", "/129", "/08"])


@pytest.fixture
def con(tmp_path: Path) -> Iterator[gateway.dbapi.connection.Connection]:
    """A warehouse in the postgres dialect."""
    with gateway.connect(f"palimpsest:{tmp_path / 'w'}", dialect="postgres") as found:
        yield found


def test_texts_are_read_as_postgresql_reads_them(
    con: gateway.dbapi.connection.Connection, admin: psycopg.Connection[Any]
) -> None:
    chance = random.Random(7)
    texts = sorted({_text(chance) for _ in range(3000)} | {*_ODD})
    admin.execute(_TRIED)
    con.execute("CREATE TABLE s (k INTEGER PRIMARY KEY, t VARCHAR)")
    con.executemany("INSERT INTO s VALUES (%s, %s)", list(enumerate(texts)))
    for kind, name in ((INET, "inet"), (CIDR, "cidr")):
        asked = "SELECT v, tried(v, %s) FROM unnest(%s::text[]) AS v"
        known: dict[str, str | None] = dict(admin.execute(asked, (name, texts)).fetchall())
        assert {text: _read(text, kind) for text in texts} == known
        # In SQL a cidr in hexadecimal is refused.
        columns = [text for text in texts if known[text] is not None and "x" not in text]
        con.execute("DELETE FROM s")
        con.executemany("INSERT INTO s VALUES (%s, %s)", list(enumerate(columns)))
        found = con.execute(f"SELECT t, concat(t::{name}) FROM s").fetchall()
        assert dict(found) == {text: known[text] for text in columns}


def _read(text: str, kind: str) -> str | None:
    try:
        return network_text(text, kind)
    except PalimpsestError:
        return None


_OF_ONE = (
    *("a::text", "host(a)", "masklen(a)", "family(a)", "concat(netmask(a))", "concat(hostmask(a))"),
    *("concat(network(a))", "concat(broadcast(a))", "concat(~a)", "concat(set_masklen(a, 20))"),
    "concat(a::cidr)",
)
_OF_TWO = (
    *("a < b", "a <= b", "a = b", "a << b", "a <<= b", "a >> b", "a >>= b", "a && b", "a > b"),
    "inet_same_family(a, b)",
)
_OF_ONE_VERSION = ("concat(a & b)", "concat(a | b)", "concat(inet_merge(a, b))")


def test_operators_and_functions_give_what_they_give_there(
    con: gateway.dbapi.connection.Connection, admin: psycopg.Connection[Any]
) -> None:
    chance = random.Random(11)
    values = sorted({t for _ in range(400) if (t := _read(_text(chance), INET)) is not None})
    rows = [(k, chance.choice(values), chance.choice(values)) for k in range(300)]
    for where in (con, admin):
        where.execute("CREATE TABLE p (k INTEGER PRIMARY KEY, a inet, b inet)")
        for row in rows:
            where.execute("INSERT INTO p VALUES (%s, %s, %s)", row)
    for columns, condition in (
        (_OF_ONE, "k >= 0"),
        (_OF_TWO, "k >= 0"),
        (_OF_ONE_VERSION, "family(a) = family(b)"),
    ):
        query = f"SELECT k, {', '.join(columns)} FROM p WHERE {condition} ORDER BY k"
        assert con.execute(query).fetchall() == admin.execute(query).fetchall()
    query = "SELECT k FROM p ORDER BY a, b DESC, k"
    assert con.execute(query).fetchall() == admin.execute(query).fetchall()
