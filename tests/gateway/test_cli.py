"""The commands as scripts and people call them: output, JSON forms, exit codes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gateway.cli import COMMANDS, main
from tests.conftest import ROOT
from tests.support.prepared_warehouse import prepared_warehouse
from tests.support.process_time import await_work


def call(*args: str, stdin: str | None = None) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, [str(a) for a in args], input=stdin, prog_name="palimpsest")


def done(*args: str, stdin: str | None = None) -> str:
    """What a command that must succeed writes."""
    result = call(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


TABLES = (
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
    "INSERT INTO t VALUES (1, 'x'), (2, NULL)",
)


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A warehouse with one table of two rows."""
    prepared_warehouse(tmp_path / "w", TABLES)
    return str(tmp_path / "w")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command: str) -> None:
    text = done(command, "--help")
    assert "Examples:" in text
    assert f"palimpsest {command}" in text


def test_init_twice_is_fine(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    assert json.loads(done("init", root, "--json"))["created"] is True
    assert json.loads(done("init", root, "--json"))["created"] is False


def test_query_writes_a_table(warehouse: str) -> None:
    text = done("query", "-w", warehouse, "SELECT * FROM t ORDER BY a")
    assert text.splitlines() == [
        " a │ b",
        "───┼──────",
        " 1 │ x",
        " 2 │ NULL",
        "(2 rows)",
    ]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("csv", "a,b\n1,x\n2,\n"),
        ("tsv", "a\tb\n1\tx\n2\t\n"),
        ("json", '[\n {"a": 1, "b": "x"},\n {"a": 2, "b": null}\n]\n'),
        ("jsonl", '{"a": 1, "b": "x"}\n{"a": 2, "b": null}\n'),
        ("markdown", "| a | b |\n| ---: | --- |\n| 1 | x |\n| 2 | NULL |\n"),
    ],
)
def test_query_writes_each_format(warehouse: str, form: str, expected: str) -> None:
    assert done("query", "-w", warehouse, "-t", form, "SELECT * FROM t ORDER BY a") == expected


def test_query_json_is_one_line_per_statement(warehouse: str) -> None:
    text = done(
        "query", "-w", warehouse, "--json", "UPDATE t SET b = 'y' WHERE a = 2; SELECT 1 AS n"
    )
    first, second = (json.loads(line) for line in text.splitlines())
    assert first == {"status": "UPDATE", "columns": [], "rows": [], "row_count": 1}
    assert second["rows"] == [[1]]
    assert second["columns"] == [{"name": "n", "type": "INTEGER"}]


def test_query_reads_standard_input_and_files(warehouse: str, tmp_path: Path) -> None:
    assert "42" in done("query", "-w", warehouse, "-t", "csv", stdin="SELECT 42 AS n")
    script = tmp_path / "s.sql"
    script.write_text("SELECT 1 AS n;\nSELECT 2 AS n;\n")
    assert done("query", "-w", warehouse, "-t", "csv", "-f", str(script)) == "n\n1\nn\n2\n"


def test_query_takes_parameters(warehouse: str) -> None:
    ask = "SELECT b FROM t WHERE a = ?"
    assert done("query", "-w", warehouse, "-t", "csv", ask, "-p", "1") == "b\nx\n"
    ask = "SELECT a FROM t WHERE b = $name"
    assert done("query", "-w", warehouse, "-t", "csv", ask, "-n", "name=x") == "a\n1\n"


def test_query_writes_to_a_file(warehouse: str, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    assert done("query", "-w", warehouse, "-t", "csv", "-o", str(out), "SELECT a FROM t") == ""
    assert sorted(out.read_text().split()) == ["1", "2", "a"]


def test_a_transaction_is_all_or_nothing(warehouse: str) -> None:
    both = "INSERT INTO t VALUES (3, 'z'); INSERT INTO t VALUES (1, 'again')"
    assert call("query", "-w", warehouse, "--transaction", both).exit_code == 1
    assert done("query", "-w", warehouse, "-t", "csv", "SELECT count(*) AS n FROM t") == "n\n2\n"
    done("query", "-w", warehouse, "--transaction", "INSERT INTO t VALUES (3, 'z')")
    assert done("query", "-w", warehouse, "-t", "csv", "SELECT count(*) AS n FROM t") == "n\n3\n"


def test_a_transaction_left_open_is_rolled_back(warehouse: str) -> None:
    result = call("query", "-w", warehouse, "BEGIN; DELETE FROM t")
    assert "rolled back" in result.stderr
    assert done("query", "-w", warehouse, "-t", "csv", "SELECT count(*) AS n FROM t") == "n\n2\n"


def test_an_error_points_at_its_place(warehouse: str) -> None:
    result = call("query", "-w", warehouse, "SELECT 1;\nSELECT *\n  FROM tt")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "ERROR PAL-201 (42P01): table main.tt does not exist"
    assert lines[1].strip() == "3 │ FROM tt" or lines[1] == " 3 │   FROM tt"
    assert lines[1].index("tt") == lines[2].index("^")
    assert lines[3].startswith("Hint: ")


def test_an_error_as_json(warehouse: str) -> None:
    result = call("query", "-w", warehouse, "--json", "SELECT *\nFROM tt")
    error = json.loads(result.stderr)["error"]
    assert error["code"] == "PAL-201"
    assert error["sqlstate"] == "42P01"
    assert error["position"] == {"line": 2, "column": 6}
    assert error["advice"]


USAGE: list[list[str]] = [
    ["query", "SELECT 1; SELECT 2", "-p", "1"],
    ["query", "SELECT 1", "--json", "-t", "csv"],
    ["query", "SELECT 1", "--dialect", "klingon"],
    ["import", "nothing.csv", "t"],
    ["export", "t", "x.csv", "--format", "papyrus"],
    ["preview", "SELECT 1", "--layout", "flat"],
    ["preview", "SELECT 1", "--key", "t"],
    ["frobnicate"],
]


@pytest.mark.parametrize("args", USAGE, ids=" ".join)
def test_wrong_use_is_2(args: list[str]) -> None:
    assert call(*args).exit_code == 2


def test_no_connection_is_3(tmp_path: Path) -> None:
    missing = call("query", "-w", str(tmp_path / "none"), "SELECT 1")
    assert missing.exit_code == 3
    assert "palimpsest init" in missing.stderr
    assert not (tmp_path / "none").exists()
    wrong = call("query", "-w", "mysql://host/db", "SELECT 1", "--json")
    assert wrong.exit_code == 3
    assert json.loads(wrong.stderr)["error"]["code"] == "PAL-603"
    nobody = "palimpsest+postgresql://nobody@127.0.0.1:1/none"
    unreachable = call("query", "-w", nobody, "SELECT 1", "--json")
    assert json.loads(unreachable.stderr)["error"]["code"] == "PAL-520"
    assert unreachable.exit_code == 3


def test_import_and_export_round_trip(warehouse: str, tmp_path: Path) -> None:
    source = tmp_path / "d.csv"
    source.write_text("id,name,zip\n1,a,01234\n2,,00000\n")
    told = json.loads(
        done("import", str(source), "d", "-w", warehouse, "--create", "--key", "id", "--json")
    )
    assert told["rows"] == 2
    assert told["created"] is True
    assert told["columns"] == ["id", "name", "zip"]
    again = call("import", str(source), "d", "-w", warehouse)
    assert again.exit_code == 1
    assert "PAL-301" in again.stderr
    merged = json.loads(
        done("import", str(source), "d", "-w", warehouse, "--load", "merge", "--json")
    )
    assert (merged["rows"], merged["inserted"], merged["updated"]) == (2, 0, 2)
    shown = done("import", str(source), "d", "-w", warehouse, "--load", "merge")
    assert "Merged into main.d: 0 rows inserted, 2 updated in" in shown
    for wrong in (["--create"], ["--rejects", str(tmp_path / "r.csv")]):
        call_of = ("import", str(source), "d", "-w", warehouse, "--load", "merge", *wrong)
        assert call(*call_of).exit_code == 2
    out = tmp_path / "d.parquet"
    told = json.loads(done("export", "d", str(out), "-w", warehouse, "--json"))
    assert told["rows"] == pq.read_table(out).num_rows == 2
    done("query", "-w", warehouse, "DELETE FROM d")
    assert "2 rows" in done("import", str(out), "d", "-w", warehouse)
    back = tmp_path / "back.csv"
    done("export", "SELECT * FROM d ORDER BY id", str(back), "-w", warehouse)
    assert back.read_text() == source.read_text()


def test_import_takes_the_types_of_the_table(warehouse: str, tmp_path: Path) -> None:
    done("query", "-w", warehouse, "CREATE TABLE z (zip TEXT PRIMARY KEY, n INTEGER DEFAULT 7)")
    source = tmp_path / "z.csv"
    source.write_text("zip\n01234\n")
    done("import", str(source), "z", "-w", warehouse)
    assert done("query", "-w", warehouse, "-t", "csv", "SELECT * FROM z") == "zip,n\n01234,7\n"


def test_import_refuses_columns_the_table_has_not(warehouse: str, tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("a,c\n1,2\n")
    result = call("import", str(source), "t", "-w", warehouse, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["code"] == "PAL-202"


def test_flush_verify_and_what_damage_does(warehouse: str) -> None:
    rows: list[dict[str, Any]] = json.loads(done("flush", "-w", warehouse, "--json"))
    assert [(r["table"], r["rows"]) for r in rows] == [("main.t", 2)]
    assert done("verify", "-w", warehouse).startswith("Clean: ")
    (file,) = Path(warehouse).glob("*/*/*/*.parquet")
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    file.write_bytes(damaged)
    result = call("verify", "-w", warehouse, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["clean"] is False


def test_log_lists_commits_latest_first(warehouse: str) -> None:
    done("query", "-w", warehouse, "--user", "ada", "SET commit_message = 'mine'; DELETE FROM t")
    found = json.loads(done("log", "-w", warehouse, "--json", "--limit", "1"))
    assert len(found) == 1
    assert found[0]["message"] == "mine"
    assert "ada" in found[0].values()


def test_as_of_reads_the_past(warehouse: str) -> None:
    version = json.loads(done("log", "-w", warehouse, "--json"))[0]["version"]
    done("query", "-w", warehouse, "DELETE FROM t")
    count = "SELECT count(*) AS n FROM t"
    assert done("query", "-w", warehouse, "-t", "csv", count) == "n\n0\n"
    then = done("query", "-w", warehouse, "-t", "csv", "--as-of", str(version), count)
    assert then == "n\n2\n"


def test_preview_of_a_warehouse_and_without_one(warehouse: str, tmp_path: Path) -> None:
    told = json.loads(done("preview", "-w", warehouse, "--json", "DELETE FROM t WHERE a = 1"))
    assert told["writes"] == ["main.t"]
    assert told["steps"][0]["sql"]
    schema = tmp_path / "s.sql"
    schema.write_text("CREATE TABLE d (id INTEGER PRIMARY KEY, name TEXT)")
    text = done("preview", "SELECT * FROM d", "--schema", str(schema), "--uncompacted")
    assert "anti-join" in text
    text = done("preview", "DELETE FROM d WHERE id = 1", "--key", "d=id", "--layout", "flat")
    assert "append to main.d_journal" in text
    failed = call("preview", "SELECT * FROM e", "--schema", str(schema))
    assert failed.exit_code == 1
    assert "^" in failed.stderr


def held_open(pid: int, path: Path) -> bool:
    """Whether a process has opened a file yet."""
    links = Path(f"/proc/{pid}/fd").iterdir()
    return any(link.resolve() == path.resolve() for link in links)


@pytest.mark.long
def test_ctrl_c_stops_the_statement_and_is_130(warehouse: str) -> None:
    slow = "SELECT count(*) FROM range(3000000000) a, range(1000) b WHERE a.range + b.range < 0"
    running = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli", "query", "-w", warehouse, slow],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        database = Path(warehouse) / "palimpsest.duckdb"
        while not held_open(running.pid, database):
            time.sleep(0.1)
        # What comes before the query takes less.
        await_work(running.pid, 2)
        running.send_signal(signal.SIGINT)
        _, complaint = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "PAL-407" in complaint


def test_an_option_before_its_command_is_told_where_it_belongs() -> None:
    run = CliRunner().invoke(main, ["--warehouse", "w", "query", "SELECT 1"])
    assert run.exit_code == 2
    assert "it belongs behind the command: palimpsest query --warehouse .." in run.stderr
    run = CliRunner().invoke(main, ["--wearhouse", "w", "query", "SELECT 1"])
    assert "belongs" not in run.stderr


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("id,name\n1,a\n2\n", (), "s.csv, line 3: Expected Number of Columns: 2 Found: 1"),
        ("id;name\n1;a\n2;b;c\n", (), "s.csv, line 3: Expected Number of Columns: 2 Found: 3"),
        ("id,name\n1,a\n2\n", ("--delimiter", ","), "s.csv, line 3: Expected"),
        ("id,name\n1,a\n2,b,c\n3,d,e\n", (), "s.csv, line 3: Expected Number of Columns: 2"),
        ("1,a\n2\n", ("--no-header",), "s.csv, line 2: Expected Number of Columns: 2 Found: 1"),
        ("id;name\n1;a\n", ("--delimiter", ","), "holds ';', not the delimiter ','"),
    ],
)
def test_import_refuses_lines_that_it_cannot_divide(
    text: str, options: tuple[str, ...], said: str, warehouse: str, tmp_path: Path
) -> None:
    source = tmp_path / "s.csv"
    source.write_text(text)
    result = call("import", str(source), "s", "--create", "-w", warehouse, *options)
    assert result.exit_code == 1
    assert "PAL-213" in result.stderr
    assert said in result.stderr.replace(str(tmp_path) + "/", "")
    assert call("query", "-w", warehouse, "SELECT * FROM s").exit_code == 1


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("x\n1\n2\n", ["x"]),
        ('"a, b"\n1\n2\n', ["a, b"]),
        ("note\nhello, you\nfoo\n", ["note"]),
        ("made today\n\nid,name\n1,a\n2,b\n", ["id", "name"]),
    ],
)
def test_import_takes_one_column_and_a_title(
    text: str, columns: list[str], warehouse: str, tmp_path: Path
) -> None:
    source = tmp_path / "s.csv"
    source.write_text(text)
    made = json.loads(done("import", str(source), "s", "--create", "-w", warehouse, "--json"))
    assert (made["columns"], made["rows"]) == (columns, 2)


def test_log_names_the_tables_that_are_defined_and_dropped(warehouse: str) -> None:
    done("query", "-w", warehouse, "ALTER TABLE t RENAME TO u; CREATE VIEW v AS SELECT a FROM u")
    done("query", "-w", warehouse, "DROP VIEW v; DROP TABLE u")

    def tables(*named: str) -> list[list[str]]:
        return [c["tables"] for c in json.loads(done("log", *named, "-w", warehouse, "--json"))]

    assert tables("u") == [["main.u"], ["main.u", "main.t"]]
    assert tables("t") == [["main.u", "main.t"], ["main.t"], ["main.t"]]
    assert tables("v") == [["main.v"], ["main.v"]]
    unknown = call("log", "w", "-w", warehouse)
    assert unknown.exit_code == 1
    assert "PAL-201 (42P01): table main.w does not exist" in unknown.stderr


@pytest.mark.parametrize(
    "command", [["init"], ["query", "SELECT 1", "-w"], ["import", "-", "t", "-w"]]
)
def test_a_folder_whose_name_is_no_text_is_refused(command: list[str], tmp_path: Path) -> None:
    """It ended in a traceback; so did a link to it."""
    folder = os.fsencode(tmp_path) + b"/lat\xfcin"
    os.mkdir(folder)  # noqa: PTH102 - a name of bytes
    link = tmp_path / "link"
    link.symlink_to(os.fsdecode(folder))
    (tmp_path / os.fsdecode(b"lat\xfcin") / "palimpsest.duckdb").touch()
    for place in (os.fsdecode(folder), str(link)):
        result = call(*command, place)
        assert result.exit_code == 3
        assert "PAL-507 (58P01): the path of the warehouse is not text in UTF-8" in result.stderr


def test_init_quotes_names_and_tells_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "a b's").mkdir()
    (tmp_path / "a b's" / "notes.txt").touch()
    result = call("init", str(tmp_path / "a b's"))
    assert result.exit_code == 0
    assert "It holds other files, too" in result.stderr
    word = shlex.quote(str(tmp_path / "a b's"))
    assert f"Next: palimpsest shell {word}\n" in result.stdout
    assert f"--create -w {word}\n" in result.stdout


def test_a_backup_is_copied_and_restored_by_options(warehouse: str, tmp_path: Path) -> None:
    place = tmp_path / "vault"
    told = done("job", "backup", "t", "--name", "n", "--to", str(place), "-w", warehouse)
    assert f"backup n, copied to {place}/main.t/n" in told
    other = str(tmp_path / "other")
    prepared_warehouse(tmp_path / "other", TABLES[:1])
    copy = str(place / "main.t" / "n")
    assert "2 rows written" in done("job", "restore", "t", "--from", copy, "-w", other)
    assert "does not take to" in call("job", "compact", "t", "--to", "x", "-w", other).stderr


@pytest.mark.parametrize(
    "command", [["shell", "-c", "SELECT 1"], ["import", "{csv}", "t", "--create", "-w"]]
)
def test_a_warehouse_that_a_command_makes_is_told_of(command: list[str], tmp_path: Path) -> None:
    """Its path may be misspelled."""
    (tmp_path / "s.csv").write_text("a\n1\n")
    place = str(tmp_path / "w")
    words = [word.format(csv=tmp_path / "s.csv") for word in command]
    assert call(*words, place).stderr == f"Made the warehouse {place}.\n"
    assert "Made" not in call(*words, place).stderr


def test_instants_are_shown_in_the_zone_of_the_session(warehouse: str) -> None:
    """They were shown in UTC, beside casts to texts, COPY and JSON in the session's zone."""
    query = "SET timezone = 'America/New_York'; SELECT TIMESTAMPTZ '2024-01-01 00:00+00' AS at"
    for form in ("csv", "table"):
        shown = done(
            "query", "-w", warehouse, "-t", form, f"{query}, TIMESTAMPTZ '2024-07-01' AS b"
        )
        assert "2023-12-31 19:00:00-05" in shown
        assert "2024-07-01 00:00:00-04" in shown


@pytest.mark.parametrize(
    ("words", "said", "advice"),
    [
        (
            ["import", "nothing.csv", "t"],
            "'nothing.csv' does not exist",
            "palimpsest import --help",
        ),
        (["query", "SELECT 1", "--no-such"], "No such option", "palimpsest query --help"),
        (["job", "compact"], "name tables, or give --all", "palimpsest job --help"),
        (["qery"], "Did you mean query?", "palimpsest --help"),
    ],
)
def test_wrong_use_is_an_object_too(words: list[str], said: str, advice: str) -> None:
    result = call(*words, "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    error = json.loads(result.stderr)["error"]
    assert said in error["message"]
    assert error["advice"].startswith(advice)
    assert (error["code"], error["sqlstate"], error["position"]) == (None, None, None)
    assert "Usage:" in done("query", "--help", "--json")


def test_import_says_how_a_file_in_another_encoding_is_read(warehouse: str, tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_bytes(b"a,b\n3,\xfc\n")
    for options in (["--create"], []):
        result = call("import", str(source), "s" if options else "t", "-w", warehouse, *options)
        assert result.exit_code == 1
        assert "s.csv, line 2: " in result.stderr
        assert "ENCODING 'latin-1'" in result.stderr
    load = f"COPY t FROM '{source}' (HEADER, ENCODING 'latin-1')"
    assert "INSERT 1" in done("query", "-w", warehouse, load)
