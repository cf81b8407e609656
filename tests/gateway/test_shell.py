"""The shell without a terminal: -c, files, pipes, backslash commands, and how errors end it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from tests.support.prepared_warehouse import prepared_warehouse


def shell(root: Path, *args: str, stdin: str = "") -> Result:
    """Run the shell on a warehouse."""
    return CliRunner().invoke(
        main, ["shell", str(root), *args], input=stdin, prog_name="palimpsest"
    )


TABLES = (
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL DEFAULT '-')",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse with a table."""
    prepared_warehouse(tmp_path / "w", TABLES)
    return tmp_path / "w"


def test_scripts_mix_statements_and_backslash_commands(root: Path) -> None:
    script = "\\pset format csv\nSELECT a,\n  b FROM t\n ORDER BY a; SELECT 3 AS n;\n\\x on\n"
    result = shell(root, stdin=script)
    assert result.exit_code == 0
    assert "a,b\n1,x\n2,y\nn\n3\n" in result.stdout


def test_a_last_statement_needs_no_semicolon(root: Path) -> None:
    assert "7" in shell(root, stdin="SELECT 7 AS n").stdout


def test_errors_are_shown_and_the_script_goes_on(root: Path) -> None:
    result = shell(root, stdin="SELECT 1 AS one;\n\nSELECT * FROM nix;\nSELECT 2 AS two;\n")
    assert result.exit_code == 1
    assert "two" in result.stdout
    assert " 3 │ SELECT * FROM nix" in result.stderr


def test_on_error_stop_ends_the_script(root: Path) -> None:
    script = "SELECT * FROM nix;\nSELECT 2 AS two;\n"
    result = shell(root, "-v", "ON_ERROR_STOP=1", stdin=script)
    assert result.exit_code == 1
    assert "two" not in result.stdout


def test_describe(root: Path) -> None:
    text = shell(root, "-c", "\\d t").stdout
    assert "Table main.t" in text
    assert "Primary key: a" in text
    assert "not null" in text
    assert "Journal main.t_journal: 2 rows in the head" in text
    assert "main   │ t" in shell(root, "-c", "\\dt").stdout
    assert "(0 rows)" in shell(root, "-c", "\\dv").stdout
    assert "main" in shell(root, "-c", "\\dn").stdout
    assert str(root) in shell(root, "-c", "\\l").stdout


def test_describe_of_what_is_not_there(root: Path) -> None:
    result = shell(root, "-c", "\\d nix")
    assert result.exit_code == 1
    assert "there is no table or view nix" in result.stderr


def test_variables_are_bound_not_pasted(root: Path) -> None:
    script = "\\set name x'; DROP TABLE t; --\n\\set k 'x'\nSELECT a FROM t WHERE b = :k;\n"
    result = shell(root, stdin=script.replace("\\set name x'; DROP TABLE t; --\n", ""))
    assert " 1" in result.stdout


def test_copy_writes_and_reads_files(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    result = shell(
        root,
        "-c", f"\\copy (SELECT * FROM t ORDER BY a) TO '{out}'",
        "-c", "DELETE FROM t",
        "-c", f"\\copy t FROM '{out}'",
        "-c", f"\\copy u FROM '{out}' CREATE KEY (a)",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert out.read_text() == "a,b\n1,x\n2,y\n"
    assert "Appended to main.t: 2 rows." in result.stdout
    assert "Made main.u: 2 rows." in result.stdout


def test_include_and_output(root: Path, tmp_path: Path) -> None:
    script, out = tmp_path / "s.sql", tmp_path / "o.txt"
    script.write_text("SELECT 5 AS five;\n")
    result = shell(root, stdin=f"\\o {out}\n\\i {script}\n\\o\nSELECT 6 AS six;\n")
    assert result.exit_code == 0, result.output
    assert "five" in out.read_text()
    assert "five" not in result.stdout
    assert "six" in result.stdout


def test_a_script_that_includes_itself_ends(root: Path, tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text(f"\\i {script}\n")
    assert "include each other" in shell(root, stdin=f"\\i {script}\n").stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("\\nope", "there is no command \\nope"),
        ("\\i", "\\i takes a file"),
        ("\\i /no/such/file", "No such file"),
        ("\\pset format papyrus", "format takes one of"),
        ("\\pset nope 1", "there is no option nope"),
        ("\\x maybe", "neither on nor off"),
        ("\\preview", "takes a statement"),
        ("\\copy t", "not complete"),
        ("\\set 1x y", "takes a name and a value"),
        ("\\i 'open", "a quote is not closed"),
    ],
)
def test_wrong_commands_say_what_is_right(root: Path, line: str, said: str) -> None:
    result = shell(root, "-c", line)
    assert result.exit_code == 1
    assert said in result.stderr


def test_help(root: Path) -> None:
    listed = shell(root, "-c", "\\?").stdout
    for command in ("\\d", "\\dt", "\\timing", "\\preview", "\\x", "\\i", "\\o", "\\copy", "\\q"):
        assert f"  {command}" in listed
    assert "ON CONFLICT" in shell(root, "-c", "\\h insert").stdout
    assert "WHEN MATCHED" in shell(root, "-c", "\\h MERGE").stdout


def test_timing_null_and_expanded(root: Path) -> None:
    text = shell(
        root, stdin="\\timing\n\\pset null (none)\n\\x on\nSELECT NULL AS n;\n\\q\nSELECT 9;"
    ).stdout
    assert "Time: " in text
    assert " n │ (none)" in text
    assert "9" not in text.split("Time: ")[1].split("ms")[1]


def test_transactions_and_what_is_left_open(root: Path) -> None:
    shell(root, stdin="BEGIN;\nDELETE FROM t;\n")
    assert "2" in shell(root, "-t", "csv", "-c", "SELECT count(*) AS n FROM t").stdout
    shell(root, stdin="BEGIN;\nDELETE FROM t;\nCOMMIT;\n")
    assert "n\n0\n" in shell(root, "-t", "csv", "-c", "SELECT count(*) AS n FROM t").stdout


def test_preview(root: Path) -> None:
    text = shell(root, "-c", "\\preview UPDATE t SET b = 'z' WHERE a = 1").stdout
    assert "-- UPDATE; reads main.t; writes main.t" in text
    assert "_palimpsest.t1_head" in text
    assert (
        "n\n0\n"
        in shell(root, "-t", "csv", "-c", "SELECT count(*) AS n FROM t WHERE b = 'z'").stdout
    )
