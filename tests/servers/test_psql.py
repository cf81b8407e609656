"""psql: what it prints, its commands on the catalog, transactions in a script."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.servers.conftest import Server

pytestmark = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
DESCRIBE = (
    r"\d \dt \dt+ \dv \di \ds \dn \dn+ \du \l \df \dT \dp \conninfo \dC \dD \dF \db \des \dx \dy"
    r" \dO \dc \dL \dm \dE \dconfig"
).split(" ")


def psql(server: Server, *commands: str, over_socket: bool = True, script: str = "") -> str:
    host = str(server.folder) if over_socket else "127.0.0.1"
    words = [word for command in commands for word in ("-c", command)]
    done = subprocess.run(
        ["psql", "-X", "-h", host, "-p", str(server.port), "-U", "me", "palimpsest", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        input=script,
    )
    assert "connection to server" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def tables(server: Server) -> None:
    psql(
        server,
        "CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR, n NUMERIC(8,2) DEFAULT 0)",
        "CREATE TABLE child (a INTEGER REFERENCES parent, b INTEGER CHECK (b > 0),"
        " c INTEGER NOT NULL UNIQUE)",
        "CREATE INDEX child_b ON child (b)",
        "CREATE VIEW names AS SELECT id, name FROM parent",
        "CREATE MATERIALIZED VIEW sizes AS SELECT count(*) AS parents FROM parent",
        "COMMENT ON TABLE parent IS 'of children'",
    )


@pytest.mark.parametrize("command", DESCRIBE)
def test_commands_on_the_catalog_answer(server: Server, tables: None, command: str) -> None:
    assert "ERROR" not in psql(server, command)


def test_describing_a_table_shows_all_of_it(server: Server, tables: None) -> None:
    shown = psql(server, r"\d child")
    for part in ("not null", "child_b", "UNIQUE CONSTRAINT", "CHECK", "FOREIGN KEY (a) REFERENCES"):
        assert part in shown
    assert 'TABLE "child" CONSTRAINT' in psql(server, r"\d parent")
    assert "numeric(8,2)" in psql(server, r"\d+ parent")
    assert "of children" in psql(server, r"\dt+ parent")
    assert "SELECT" in psql(server, r"\d+ names")
    assert "Materialized view" in psql(server, r"\d sizes")
    assert "count(*)" in psql(server, r"\d+ sizes")
    listed = psql(server, r"\dm"), psql(server, r"\dv"), psql(server, r"\dt")
    assert ["sizes" in text for text in listed] == [True, False, False]
    assert "REFRESH MATERIALIZED VIEW" in psql(server, "REFRESH MATERIALIZED VIEW sizes")
    assert "sizes" in psql(server, "SELECT matviewname FROM pg_matviews WHERE ispopulated")
    assert "cannot change materialized view" in psql(server, "DELETE FROM sizes")


def test_columns_have_postgresqls_names(server: Server) -> None:
    shown = psql(server, "SELECT count(*), 1 + 1, 'a' || 'b' AS c, 2::bigint, upper('x')")
    names = [name.strip() for name in shown.split("\n")[0].split("|")]
    assert names == ["count", "?column?", "c", "int8", "upper"]


def test_the_home_schema_is_called_public(server: Server) -> None:
    shown = psql(
        server,
        "CREATE TABLE of_home (id INTEGER PRIMARY KEY)",
        r"\dt public.of_home",
        r"\dt main.of_home",
        "SELECT 'main.of_home'::regclass AS found",
        'SET search_path TO "$user", nowhere, public; SELECT current_schemas(false)',
        "INSERT INTO of_home VALUES (1), (1)",
        "SELECT * FROM absent",
        "CREATE SCHEMA IF NOT EXISTS public",
        "DROP TABLE main.of_home",
    )
    for part in (
        "public | of_home",
        'any relation named "main.of_home"',
        " found  \n---------\n of_home",
        "{public}",
        'violates unique constraint "of_home_pkey"',
        'relation "absent" does not exist',
        'schema "public" already exists',
    ):
        assert part in shown
    assert "DROP TABLE" in shown


def test_some_statements_of_a_text_read_the_catalog(server: Server) -> None:
    found = "SELECT count(*) AS tables FROM pg_class WHERE relname = 'for_now'"
    shown = psql(
        server, f"BEGIN; {found}; CREATE TABLE for_now (a INT); {found}; ROLLBACK; {found}"
    )
    assert [line.strip() for line in shown.split("\n") if line.strip().isdigit()] == ["0", "1", "0"]


def test_temporary_tables_are_listed_and_databases_may_be_named(server: Server) -> None:
    columns = "SELECT string_agg(column_name, '+') FROM {}information_schema.columns WHERE"
    own = " table_name = 'for_a_while'"
    shown = psql(
        server,
        'BEGIN; CREATE TEMP TABLE for_a_while AS SELECT 1 AS a, 2 AS "B"',
        columns.format('"palimpsest".') + own,
        r"\d for_a_while",
        "SELECT 'for_a_while'::regclass AS found",
        "COMMIT",
        columns.format("elsewhere.") + own,
    )
    for part in ("a+B", "cross-database references", '"pg_temp.for_a_while"', " for_a_while"):
        assert part in shown, part


def test_rows_stand_in_a_script(server: Server) -> None:
    shown = psql(
        server,
        script="""CREATE TEMP TABLE listed (id INTEGER, name TEXT);
COPY listed FROM STDIN WITH (FORMAT csv, HEADER);
id,name
1,a
2,\\.
\\.
COPY listed FROM STDIN;
3\tc
\\.
SELECT 'found ' || string_agg(id || name, ' ' ORDER BY id) FROM listed;
""",
    )
    assert "COPY 2" in shown
    assert "found 1a 2\\. 3c" in shown


def test_a_script_with_a_transaction(server: Server) -> None:
    shown = psql(
        server,
        "BEGIN; CREATE TABLE gone (a INTEGER); INSERT INTO gone VALUES (1); ROLLBACK",
        "SELECT * FROM gone",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM range(5) AS r(x); FETCH 2 FROM c; COMMIT",
    )
    assert "relation" in shown or "does not exist" in shown
    assert "(2 rows)" in shown


def test_nobody_else_reads_the_socket(server: Server) -> None:
    path = next(server.folder.glob(".s.PGSQL.*"))
    assert path.stat().st_mode & 0o077 == 0


def test_names_without_a_schema_are_those_of_the_path(server: Server) -> None:
    shown = psql(
        server,
        "CREATE SCHEMA apart; CREATE TABLE apart.twins (a INT); CREATE TABLE twins (b INT)",
        r"\d twins",
        r"\dt twins",
        "SELECT c.oid::regclass AS named FROM pg_class c WHERE c.relname = 'twins' ORDER BY 1",
        "DROP SCHEMA apart CASCADE; DROP TABLE twins",
    )
    assert 'Table "public.twins"' in shown
    assert 'Table "apart.twins"' not in shown
    assert "apart  | twins" not in shown
    assert "    named    \n-------------\n apart.twins\n twins\n" in shown
