"""INSERT .. RETURNING gives rows in the order in which they came: clients match them by place."""

from __future__ import annotations

import psycopg
import pytest

from tests.servers.conftest import Server

ENDS = (
    "",
    "ON CONFLICT DO NOTHING",
    "ON CONFLICT (id) DO NOTHING",
    "ON CONFLICT (id) DO UPDATE SET boss = excluded.boss",
)


@pytest.mark.parametrize("end", ENDS)
def test_returned_rows_are_in_the_order_of_values(server: Server, end: str) -> None:
    names = [f"n{place}" for place in range(40)]
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS workers")
        con.execute("CREATE TABLE workers (id BIGSERIAL PRIMARY KEY, name TEXT, boss BIGINT)")
        text = f"INSERT INTO workers (name, boss) VALUES {{}} {end} RETURNING id, name"
        places = ", ".join("(%s, 1)" for _ in names)
        found = con.execute(text.format(places), names).fetchall()
        assert [name for _, name in found] == names
        assert [number for number, _ in found] == sorted(number for number, _ in found)
        con.execute("DROP TABLE workers")
