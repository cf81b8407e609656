"""Whatever a job, an erasure or a hold cannot use is refused with a code, and nothing is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main
from journal.model.errors import PalimpsestError
from tests.support.client import Client

SQL = [
    ("CALL system.compact(table => 't', table => 'u')", "PAL-222"),
    ("CALL system.compact(table => NULL)", "PAL-222"),
    ("CALL system.flush(table => NULL)", "PAL-222"),
    ("CALL system.compact('v')", "PAL-209"),
    ("CALL system.compact('t', dry_run => 'perhaps')", "PAL-222"),
    ("CALL system.compact('t', mode => 'MINOR')", "PAL-222"),
    ("CALL system.backup('t', name => '')", "PAL-222"),
    ("CALL system.backup('t', name => 'b', drop => 'maybe')", "PAL-222"),
    ("CALL system.backup('t', drop => true)", "PAL-222"),
    ("CALL system.backup('t', name => 'b', drop => true, expires => '1 day')", "PAL-222"),
    ("CALL system.backup('t', name => 'x', to => ' ')", "PAL-222"),
    ("CALL system.backup('t', name => 'x', archive => 'perhaps')", "PAL-222"),
    ("CALL system.verify('t', copies => 'maybe')", "PAL-222"),
    ("CALL system.vacuum('t', versions => -1)", "PAL-222"),
    ("CALL system.vacuum(lower('T'))", "PAL-222"),
    ("CALL system.vacuum('t', retain => '7' || ' days')", "PAL-222"),
    ("CALL system.vacuum('t', retain => ?)", "PAL-220"),
    ("CALL system.retain('t', now => 'yesterday')", "PAL-222"),
    ("CALL system.restore('t', backup => 'b', where => 'k = 1; DROP TABLE t')", "PAL-101"),
    ("CALL system.restore('t', backup => 'b', where => 'DELETE FROM t')", "PAL-101"),
    ("CALL system.restore('t', backup => 'b', where => 'k = ?')", "PAL-101"),
    ("CALL system.restore('t', backup => 'b', where => '')", "PAL-222"),
    ("CALL system.restore('t', backup => 'b', from => '/tmp/x')", "PAL-222"),
    ("ERASE FROM v WHERE k = 1", "PAL-209"),
    ("ERASE FROM t WHERE k = ?", "PAL-220"),
    ("ERASE FROM t WHERE k = 1 REASON", "PAL-101"),
    ("ERASE FROM t WHERE k = 1 LIMIT 1", "PAL-101"),
    ("ERASE FROM t WHERE k = 1 GROUP BY k", "PAL-101"),
    ("ERASE FROM t, u WHERE k = 1", "PAL-101"),
    ("ERASE FROM t TABLESAMPLE 10% WHERE k = 1", "PAL-101"),
    ("PLACE HOLD ON t WHERE k = 1 LIMIT 3 REASON 'x'", "PAL-101"),
    ("PLACE HOLD ON t WHERE REASON 'x'", "PAL-101"),
    ("PLACE HOLD ON t REASON x", "PAL-101"),
    ("PLACE HOLD ON t REASON ''", "PAL-241"),
    ("PLACE HOLD ON v REASON 'x'", "PAL-209"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("wrong") / "warehouse")
    client("CREATE TABLE t (k INT PRIMARY KEY, n VARCHAR)")
    client("CREATE TABLE u (k INT PRIMARY KEY)")
    client("CREATE VIEW v AS SELECT * FROM t")
    client("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    client("CALL system.backup('t', name => 'b')")
    yield client
    client.close()


@pytest.mark.parametrize(("sql", "code"), SQL)
def test_wrong_arguments_are_refused_with_advice(run: Client, sql: str, code: str) -> None:
    runs = run("SELECT count(*) FROM system.jobs WHERE state <> 'FAILED'")
    with pytest.raises(PalimpsestError) as refused:
        run.connection.session.execute(sql)
    assert (refused.value.code.value.code, bool(refused.value.advice)) == (code, True)
    assert run("SELECT count(*) FROM t") == [(2,)]
    assert run("SELECT count(*) FROM system.jobs WHERE state <> 'FAILED'") == runs


def test_an_erasure_is_no_part_of_a_transaction(run: Client) -> None:
    run("BEGIN")
    with pytest.raises(PalimpsestError, match="PAL-405"):
        run.connection.session.execute("ERASE FROM t WHERE k = 1")
    run("ROLLBACK")


def test_a_wrong_argument_is_no_attempt_of_the_job(run: Client) -> None:
    asked = "SELECT count(*) FROM system.jobs WHERE kind = 'retain'"
    before = run(asked)
    for _ in range(4):
        with pytest.raises(PalimpsestError, match="not a point in time"):
            run.connection.session.execute("CALL system.retain(now => 'x')")
    assert run(asked) == before


def test_a_condition_is_not_recorded_by_its_error(run: Client) -> None:
    with pytest.raises(PalimpsestError, match="ada@x"):
        run.connection.session.execute(
            """CALL system.restore('t', backup => 'b', where => 'n = "ada@x"')"""
        )
    recorded = str(run("SELECT * FROM system.jobs WHERE kind = 'restore'"))
    assert recorded.count("FAILED")
    assert "ada@x" not in recorded


def test_lengths_of_time_and_moments_may_be_written_as_sql_has_them(run: Client) -> None:
    run("CALL system.backup('t', name => 'i', expires => INTERVAL 30 DAY)")
    run("CALL system.retain('t', now => TIMESTAMP '2024-05-01 12:00:00')")
    ((days,),) = run(
        "SELECT date_diff('day', made_at, expires_at) FROM system.backups WHERE name = 'i'"
    )
    assert days == 30


def test_a_hold_means_its_condition_in_every_dialect(tmp_path: Path) -> None:
    client = Client(tmp_path / "warehouse", dialect="mysql")
    client("CREATE TABLE t (`id no` INT PRIMARY KEY, n VARCHAR(20))")
    client("INSERT INTO t VALUES (1, 'a')")
    client("PLACE HOLD ON t WHERE `id no` = 1 AND `n` = \"a\" REASON 'm'")
    client("ERASE FROM t WHERE `id no` = 1")
    ((*_, why, _report),) = client("CALL system.purge()")
    assert why.endswith("ON_HOLD")
    client.close()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("job compact t --units 1", 2, "--all"),
        ("job compact t --as-of 1", 2, "No such option"),
        ("job compact t -o =x", 2, "NAME=VALUE"),
        ("job backup t --name a -o name=b", 2, "given twice"),
        ("erase submit --file bad.csv", 1, "UTF-8"),
        ("erase submit --file ragged.csv", 1, "line 2"),
        ("erase submit --subject email=a --subject emial=b", 1, "emial"),
        ("erase status ''", 1, "no request"),
        ("erase readmit", 2, "--request"),
        ("erase readmit --subject email=a --request b", 2, "--request"),
        ("erase scope --allow ''", 1, "not a pattern"),
        ("erase scope --deny a.b.c", 1, "not a pattern"),
        ("access create --subject email=a nowhere/a.package", 1, "PAL-507"),
        ("access create --subject email=a --days 0 a.package", 2, "days"),
        ("access create --subject email=a --passphrase short a.package", 1, "PAL-511"),
    ],
)
def test_command(command: Path, words: str, code: int, said: str) -> None:
    given = [w.strip("'") for w in words.split()]
    files = {name: str(command.parent / name) for name in ("bad.csv", "ragged.csv")}
    environment = {"PALIMPSEST_PASSPHRASE": "correct horse battery"}
    environment["PALIMPSEST_WAREHOUSE"] = str(command)
    found = CliRunner().invoke(main, [files.get(w, w) for w in given], env=environment)
    assert (found.exit_code, said in found.stderr) == (code, True), found.stderr
    assert isinstance(found.exception, SystemExit)


def test_a_table_named_twice_runs_once(command: Path) -> None:
    words = ["job", "verify", "t", "main.t", "--json", "-w", str(command)]
    assert len(json.loads(CliRunner().invoke(main, words).stdout)) == 1


def test_no_passphrase_and_nobody_to_ask(command: Path) -> None:
    words = ["access", "create", "--subject", "email=a", "a.package", "-w", str(command)]
    found = CliRunner().invoke(main, words)
    assert (found.exit_code, "PALIMPSEST_PASSPHRASE" in found.stderr) == (2, True)


def test_of_two_lists_the_one_that_is_not_given_stays(command: Path) -> None:
    def scope(*words: str) -> object:
        words = ("erase", "scope", *words, "--json", "-w", str(command))
        return json.loads(CliRunner().invoke(main, words).stdout)

    scope("--allow", "main.*")
    assert scope("--deny", "main.u") == {"allow": ["main.*"], "deny": ["main.u"]}
    assert scope("--deny", "t") == {"allow": ["main.*"], "deny": ["main.t"]}, "a table of the home"
    words = ["erase", "scope", "--deny", "T", "--deny", "nowhere.*", "-w", str(command)]
    found = CliRunner().invoke(main, words)
    assert "no table fits nowhere.*" in found.stderr
    assert "main.T" not in found.stderr
    assert scope("--reset") == {"allow": ["*"], "deny": []}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("command") / "warehouse"
    client = Client(root)
    client("CREATE TABLE t (k INT PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')")
    client.close()
    (root.parent / "bad.csv").write_bytes(b"email\n\xff\xfe\n")
    (root.parent / "ragged.csv").write_text("email\na@x,17\n")
    return root
