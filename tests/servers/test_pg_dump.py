"""What pg_dump writes of a rich schema, restored by psql into a server, and compared row by row."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.servers.conftest import launch
from tests.support.postgres import running

pytestmark = [
    pytest.mark.stores,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        shutil.which("pg_dump") is None or shutil.which("psql") is None,
        reason="pg_dump or psql is not installed",
    ),
]
MADE = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    "CREATE DOMAIN price AS numeric(9,2) CHECK (VALUE >= 0)",
    """CREATE TABLE customers (id serial PRIMARY KEY, email varchar(80) NOT NULL UNIQUE,
        how mood DEFAULT 'ok', since timestamptz DEFAULT '2024-01-02 03:04:05+00',
        tags text[] DEFAULT '{}', sizes integer[], extra jsonb, ratio numeric)""",
    """CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        customer integer NOT NULL REFERENCES customers(id) ON DELETE CASCADE, total price,
        day date, note text CHECK (length(note) < 100),
        twice integer GENERATED ALWAYS AS (customer * 2) STORED)""",
    "CREATE INDEX orders_day ON orders (day DESC) WHERE total > 0",
    """CREATE VIEW big AS SELECT o.id, c.email, o.id / 2 AS half
        FROM orders o JOIN customers c ON c.id = o.customer WHERE o.total > 10""",
    """CREATE MATERIALIZED VIEW sums AS
        SELECT customer, sum(total) AS s FROM orders GROUP BY customer""",
    "CREATE SCHEMA hr",
    """CREATE TABLE hr.staff (id uuid DEFAULT gen_random_uuid() PRIMARY KEY,
        boss uuid REFERENCES hr.staff(id), pic bytea, active boolean DEFAULT true)""",
    "CREATE TABLE hr.nobody (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a text)",
    "COMMENT ON TABLE customers IS 'who buys'",
    "COMMENT ON COLUMN orders.day IS 'of order'",
    "COMMENT ON CONSTRAINT orders_note_check ON orders IS 'short'",
    """INSERT INTO customers (email, tags, sizes, extra, ratio)
        SELECT 'u' || g || '@x.example', ARRAY['a', 'b c', 'd,"e\\', NULL], ARRAY[g, NULL],
               '{"a": [1, "x"]}', g / 7.0 FROM generate_series(1, 50) g""",
    """INSERT INTO orders (customer, total, day, note)
        SELECT 1 + g % 50, g * 1.5, date '2024-01-01' + g,
               CASE WHEN g % 3 = 0 THEN NULL ELSE E'tab\\tand\\\\n\\n' END
        FROM generate_series(1, 200) g""",
    "INSERT INTO hr.staff (id, pic) VALUES ('00000000-0000-0000-0000-000000000001', '\\xdead')",
    "INSERT INTO hr.staff (boss) VALUES ('00000000-0000-0000-0000-000000000001')",
    "REFRESH MATERIALIZED VIEW sums",
    """CREATE POLICY own_rows ON customers FOR SELECT
        USING (email = CURRENT_USER OR EXISTS (SELECT 1 FROM hr.nobody n WHERE n.id = customers.id))
    """,
    "CREATE POLICY few ON orders AS RESTRICTIVE USING (total > 0) WITH CHECK (total < 1000)",
    "CREATE POLICY adds ON orders FOR INSERT WITH CHECK (note IS NOT NULL AND length(note) > 1)",
    "COMMENT ON POLICY few ON orders IS 'neither free nor dear'",
    "ALTER TABLE customers ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE orders FORCE ROW LEVEL SECURITY",
    "ALTER TABLE customers REPLICA IDENTITY FULL",
    """CREATE FUNCTION hr.stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.note = 'x' THEN NEW.note := 'it''s ' || TG_ARGV[0]; END IF;
  RETURN NEW;
END $$""",
    """CREATE TRIGGER stamp BEFORE INSERT OR UPDATE OF note ON orders FOR EACH ROW
        WHEN (NEW.total IS NULL) EXECUTE FUNCTION hr.stamp('a b')""",
    "CREATE TRIGGER other BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION hr.stamp()",
    "ALTER TABLE orders DISABLE TRIGGER other",
    "ALTER TABLE orders CLUSTER ON orders_pkey",
)
READ = (
    "SELECT id, email, how::text, since, tags, sizes, round(ratio, 9) FROM public.customers",
    "SELECT * FROM public.orders",
    "SELECT * FROM public.big",
    "SELECT * FROM public.sums",
    "SELECT * FROM hr.staff",
    "SELECT * FROM hr.nobody",
    """SELECT tablename, policyname, permissive, roles, cmd, qual IS NULL, with_check IS NULL
        FROM pg_policies WHERE tablename IN ('customers', 'orders')""",
    """SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class
        WHERE relname IN ('customers', 'orders') AND relkind = 'r'""",
    "INSERT INTO public.customers (email) VALUES ('new') RETURNING id, tags",
    "INSERT INTO public.orders (customer, note) VALUES (1, 'x') RETURNING note",
    """SELECT tgname, tgenabled, tgtype, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal""",
    """SELECT trigger_name, event_manipulation, event_object_table, action_order, action_timing
        FROM information_schema.triggers""",
    "INSERT INTO public.orders (customer, day) VALUES (1, NULL) RETURNING id, twice",
)


def test_a_dump_of_the_rows_is_restored_by_postgresql(tmp_path: Path) -> None:
    with running() as cluster:
        conninfo = cluster.conninfo(cluster.database())
        server = launch(tmp_path)
        try:
            for place in (conninfo, server.dsn):
                with psycopg.connect(place, autocommit=True) as made:
                    for sql in MADE:
                        if place == server.dsn or not sql.startswith("INSERT"):
                            made.execute(sql)
            dump = str(tmp_path / "dump.sql")
            for form in ((), ("--column-inserts", "--table", "hr.staff")):
                command = ["pg_dump", "--data-only", *form, "--file", dump, server.dsn]
                subprocess.run(command, check=True, capture_output=True, timeout=60)
                psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", conninfo]
                replica = ["-c", "SET session_replication_role = replica", "-f", dump]
                done = subprocess.run(
                    [*psql, *replica], capture_output=True, text=True, check=False
                )
                assert (done.returncode, done.stderr) == (0, "")
                with (
                    psycopg.connect(conninfo, autocommit=True) as theirs,
                    psycopg.connect(server.dsn, autocommit=True) as ours,
                ):
                    theirs.execute("REFRESH MATERIALIZED VIEW sums")
                    for query in READ[:6]:
                        got, wanted = (
                            sorted(con.execute(query).fetchall(), key=repr)
                            for con in (theirs, ours)
                        )
                        assert got == wanted, query
                    theirs.execute("DELETE FROM hr.staff")
        finally:
            server.end()


def test_a_dump_is_restored_without_an_error_and_row_by_row(tmp_path: Path) -> None:
    with running() as cluster:
        conninfo = cluster.conninfo(cluster.database())
        with psycopg.connect(conninfo, autocommit=True) as made:
            for sql in MADE:
                made.execute(sql)
        dump = tmp_path / "dump.sql"
        command = ["pg_dump", "--no-owner", "--file", str(dump), conninfo]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        server = launch(tmp_path)
        try:
            psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", server.dsn, "-f", str(dump)]
            done = subprocess.run(psql, capture_output=True, text=True, timeout=300, check=False)
            assert (done.returncode, done.stderr) == (0, "")
            with (
                psycopg.connect(conninfo, autocommit=True) as theirs,
                psycopg.connect(server.dsn, autocommit=True) as ours,
            ):
                for query in READ:
                    wanted, got = (
                        sorted(con.execute(query).fetchall(), key=repr) for con in (theirs, ours)
                    )
                    assert got == wanted, query
        finally:
            server.end()
