"""Roles and privileges in PostgreSQL's catalog: beside a real server, and as psql shows them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.servers.conftest import Server, launch
from tests.support.postgres import running

SETUP = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)",
    "CREATE TABLE u (k INTEGER, v INTEGER)",
    "CREATE VIEW w AS SELECT k FROM t",
    "CREATE SEQUENCE ids",
    "CREATE SCHEMA hr",
    "CREATE ROLE staff",
    "CREATE ROLE boss CREATEROLE BYPASSRLS",
    "CREATE ROLE ann LOGIN CONNECTION LIMIT 3 VALID UNTIL '2030-01-01 00:00:00+00' IN ROLE staff",
    "CREATE ROLE lazy NOINHERIT IN ROLE staff",
    "GRANT SELECT, INSERT ON t TO staff WITH GRANT OPTION",
    "GRANT UPDATE (v), SELECT (v) ON u TO PUBLIC",
    "GRANT SELECT (k), UPDATE (k) ON u TO ann",
    "GRANT SELECT ON w TO PUBLIC",
    "GRANT USAGE ON SEQUENCE ids TO ann",
    "GRANT USAGE, CREATE ON SCHEMA hr TO staff",
    "ALTER TABLE u OWNER TO boss",
    "ALTER DEFAULT PRIVILEGES FOR ROLE boss GRANT SELECT, INSERT ON TABLES TO staff",
    "ALTER DEFAULT PRIVILEGES FOR ROLE boss IN SCHEMA hr GRANT SELECT ON TABLES TO ann, PUBLIC",
    "ALTER DEFAULT PRIVILEGES FOR ROLE boss GRANT USAGE ON SEQUENCES TO ann WITH GRANT OPTION",
    "ALTER DEFAULT PRIVILEGES FOR ROLE boss GRANT USAGE ON SCHEMAS TO staff",
    "ALTER DEFAULT PRIVILEGES FOR ROLE staff GRANT USAGE ON SEQUENCES TO ann",
    "ALTER DEFAULT PRIVILEGES FOR ROLE staff REVOKE USAGE ON SEQUENCES FROM ann",
)  # fmt: skip
QUERIES = (
    (
        "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcanlogin, rolconnlimit,"
        " rolbypassrls, rolvaliduntil FROM pg_catalog.pg_roles"
        " WHERE rolname IN ('staff', 'boss', 'ann', 'lazy') ORDER BY 1"
    ),
    (
        "SELECT r.rolname, m.rolname, a.admin_option FROM pg_catalog.pg_auth_members a"
        " JOIN pg_catalog.pg_roles r ON r.oid = a.roleid JOIN pg_catalog.pg_roles m"
        " ON m.oid = a.member WHERE m.rolname IN ('ann', 'lazy') ORDER BY 1, 2"
    ),
    "SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE relname = 'u'",
    "SELECT usename FROM pg_catalog.pg_user WHERE usename IN ('ann', 'staff')",
    *(
        f"SELECT '{role}', '{privilege}', pg_catalog.has_table_privilege('{role}', '{table}',"
        f" '{privilege}'), pg_catalog.has_any_column_privilege('{role}', '{table}', '{any_of}')"
        for role in ("staff", "boss", "ann", "lazy")
        for table in ("t", "u", "w")
        for privilege, any_of in (("SELECT", "SELECT"), ("INSERT, DELETE", "UPDATE"))
    ),
    *(
        f"SELECT pg_catalog.has_column_privilege('{role}', 'u', '{column}', 'UPDATE'),"
        f" pg_catalog.has_schema_privilege('{role}', 'hr', 'CREATE'),"
        f" pg_catalog.has_sequence_privilege('{role}', 'ids', 'USAGE'),"
        f" pg_catalog.pg_has_role('{role}', 'staff', 'MEMBER')"
        for role in ("staff", "boss", "ann", "lazy")
        for column in "v"
    ),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    with running() as cluster, ExitStack() as ends:
        server = launch(tmp_path_factory.mktemp("roles"))
        ends.callback(server.end)
        place = cluster.conninfo("postgres")
        for where in (server.dsn, place):
            with psycopg.connect(where, autocommit=True) as con:
                for sql in SETUP:
                    con.execute(sql)
        yield server, place


@pytest.mark.parametrize("query", QUERIES)
def test_it_is_answered_as_by_postgresql(pair: tuple[Server, str], query: str) -> None:
    server, place = pair
    with psycopg.connect(server.dsn) as ours, psycopg.connect(place) as theirs:
        assert ours.execute(query).fetchall() == theirs.execute(query).fetchall()


def _lists(where: str) -> list[tuple[object, ...]]:
    query = (
        "SELECT relname, relacl::text[] FROM pg_catalog.pg_class WHERE relname IN ('t', 'u', 'w')"
        " ORDER BY relname"
    )
    with psycopg.connect(where) as con:
        found = con.execute(query).fetchall()
    # The owner of the rest has another name, and tables have no triggers here.
    return [
        (name, [i.replace("tester", "me").replace("arwdDxt", "arwdDx") for i in acl or ()])
        for name, acl in found
    ]


def test_access_lists_have_postgresqls_form(pair: tuple[Server, str]) -> None:
    server, place = pair
    assert _lists(server.dsn) == _lists(place)


def _defaults(where: str) -> list[tuple[object, ...]]:
    query = (
        "SELECT pg_catalog.pg_get_userbyid(d.defaclrole), n.nspname, d.defaclobjtype,"
        " d.defaclacl::text[] FROM pg_catalog.pg_default_acl d"
        " LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3"
    )
    with psycopg.connect(where) as con:
        found = con.execute(query).fetchall()
    return [
        (*parts, sorted(i.replace("arwdDxt", "arwdDx").replace("rwU", "Urw") for i in items))
        for *parts, items in found
    ]


def test_default_privileges_are_listed_as_by_postgresql(pair: tuple[Server, str]) -> None:
    server, place = pair
    ours = _defaults(server.dsn)
    assert len(ours) == 4
    assert ours == _defaults(place)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"\du", ["ann", "3 connections", "Password valid until", "{staff}", "Cannot login"]),
        (r"\dp", ["staff=a*r*/me", "=r/me", "ann=rw/boss", "=rw/boss"]),
        (r"\z t", ["staff=a*r*/me"]),
        (r"\dn+", ["staff=UC/me"]),
        (r"\ddp", ["boss", "sequence", "ann=U*/boss", "=r/boss", "staff=ar/boss"]),
    ],
)
def test_psql_shows_them(pair: tuple[Server, str], command: str, shown: list[str]) -> None:
    server, _ = pair
    done = subprocess.run(
        ["psql", "-X", server.dsn, "-c", command],
        env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    text = done.stdout.replace("r*a*", "a*r*")
    assert not [part for part in shown if part not in text], done.stdout


def test_a_role_asks_for_itself(pair: tuple[Server, str]) -> None:
    server, _ = pair
    with psycopg.connect(server.dsn, autocommit=True) as con:
        con.execute("SET ROLE ann")
        query = (
            "SELECT pg_catalog.has_table_privilege('t', 'SELECT'),"
            " pg_catalog.has_table_privilege('t', 'DELETE'), pg_catalog.current_user()"
        )
        query = query.replace(", pg_catalog.current_user()", "")
        assert con.execute(query).fetchall() == [(True, False)]
        tables = "SELECT relname FROM pg_catalog.pg_class WHERE relkind IN ('r', 'v') ORDER BY 1"
        assert con.execute(tables).fetchall() == [("t",), ("u",), ("w",)]
        con.execute("RESET ROLE")
        assert con.execute(query).fetchall() == [(True, True)]


def test_row_policies_are_listed_to_whoever_sees_the_table(pair: tuple[Server, str]) -> None:
    """The columns that PostgreSQL fills; the condition is its owner's, as it may name others'."""
    listed = "SELECT * FROM pg_policies WHERE tablename LIKE 'guarded%' ORDER BY tablename"
    guarded = "SELECT relname FROM pg_class WHERE relrowsecurity AND relname LIKE 'guarded%'"
    server, place = pair
    with psycopg.connect(place) as theirs:
        theirs.execute("CREATE TABLE guarded (a INTEGER)")
        theirs.execute("ALTER TABLE guarded ENABLE ROW LEVEL SECURITY")
        theirs.execute("CREATE POLICY row_policy ON guarded USING (a > 1)")
        wanted = theirs.execute(listed).fetchall()
        theirs.rollback()
    assert wanted[0][2:] == ("row_policy", "PERMISSIVE", ["public"], "ALL", "(a > 1)", None)
    with psycopg.connect(server.dsn, autocommit=True) as ours:
        for name in ("guarded", "guarded_too"):
            ours.execute(f"CREATE TABLE {name} (a INTEGER)")
            ours.execute(f"ALTER TABLE {name} SET ROW POLICY (a > 1)")
        ours.execute("GRANT SELECT ON guarded TO ann")
        if shutil.which("psql") is not None:
            for command in (r"\d guarded", r"\dp guarded"):
                shown = subprocess.run(
                    ["psql", "-X", server.dsn, "-c", command], capture_output=True, text=True
                )
                assert "row_policy" in shown.stdout
                assert "a > 1" in shown.stdout
        found = ours.execute(listed).fetchall()
        assert [row[1] for row in found] == ["guarded", "guarded_too"]
        assert (*found[0][2:6], f"({found[0][6]})", found[0][7]) == wanted[0][2:]
        ours.execute("SET ROLE ann")
        found = ours.execute(listed).fetchall()
        assert [(row[1], row[6]) for row in found] == [("guarded", None)]
        assert ours.execute(guarded).fetchall() == [("guarded",)]
        ours.execute("RESET ROLE")
        ours.execute("DROP TABLE guarded, guarded_too")


def test_policies_with_names_are_listed_as_by_postgresql(pair: tuple[Server, str]) -> None:
    listed = (
        "SELECT policyname, permissive, roles, cmd, qual IS NULL, with_check IS NULL"
        " FROM pg_policies WHERE tablename = 'named' ORDER BY policyname"
    )
    flags = "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'named'"
    said = (
        "SELECT p.polname, pg_catalog.obj_description(p.oid, 'pg_policy')"
        " FROM pg_policy p ORDER BY p.polname"
    )
    answers = []
    for where in pair[1], pair[0].dsn:
        with psycopg.connect(where, autocommit=True) as con:
            for sql in (
                "CREATE TABLE named (a INTEGER)",
                "CREATE POLICY all_rows ON named USING (a > 1) WITH CHECK (a > 2)",
                "CREATE POLICY few ON named AS RESTRICTIVE FOR INSERT TO ann WITH CHECK (a < 9)",
                "CREATE POLICY seen ON named FOR SELECT TO ann USING (true)",
                "CREATE POLICY gone ON named FOR DELETE USING (a = 3)",
                "COMMENT ON POLICY seen ON named IS 'all'",
                "ALTER TABLE named FORCE ROW LEVEL SECURITY",
            ):
                con.execute(sql)
            found = [con.execute(listed).fetchall(), con.execute(flags).fetchall()]
            con.execute("ALTER TABLE named ENABLE ROW LEVEL SECURITY")
            found += [con.execute(flags).fetchall(), con.execute(said).fetchall()]
            answers.append(found)
            con.execute("DROP TABLE named")
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["t", "hr", "nope", "hr.nope"])
def test_names_are_cast_to_relations_as_by_postgresql(pair: tuple[Server, str], name: str) -> None:
    """One that is not there is an error, also one that a role does not see."""
    answers = []
    for where in pair[0].dsn, pair[1]:
        with psycopg.connect(where, autocommit=True) as con:
            try:
                row = con.execute(f"SELECT '{name}'::regclass::text")
                answers.append(str(row.fetchall()))
            except psycopg.errors.UndefinedTable as error:
                answers.append(str(error.diag.message_primary))
    assert answers[0].removesuffix(" (PAL-201)") == answers[1]
    with psycopg.connect(pair[0].dsn, autocommit=True) as con:
        con.execute("SET ROLE lazy")
        with pytest.raises(psycopg.errors.UndefinedTable):
            con.execute("SELECT 't'::regclass")
