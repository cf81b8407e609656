r"""Backslash commands as scripts use them: ``\\g`` and its like, variables, programs, lists."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.shell.confirming import question_about


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with one of each kind of thing that is listed."""
    place = tmp_path_factory.mktemp("shell") / "w"
    run = _run(
        place,
        "create table t (a int primary key, b text); insert into t values (1, 'x'), (2, null);"
        "create index by_b on t (b); create sequence ids; create macro add_two(a, b) as a + b;"
        "create type mood as enum ('good', 'bad'); create role readers;"
        "create user ann superuser; grant readers to ann; grant select on t to readers;"
        "alter table t alter column b set tag pii;",
    )
    assert run.exit_code == 0, run.output
    return place


def _run(warehouse: Path, *scripts: str) -> Result:
    """What the shell answers to scripts from its command line."""
    words = [word for script in scripts for word in ("-c", script)]
    return CliRunner().invoke(main, ["shell", str(warehouse), *words])


def test_a_statement_runs_with_its_columns_in_lines(warehouse: Path) -> None:
    run = _run(warehouse, "select a, b from t where a = 1 \\gx")
    assert run.output.splitlines()[1:3] == [" a │ 1", " b │ x"]


def test_the_last_statement_runs_again(warehouse: Path) -> None:
    run = _run(warehouse, "select count(*) as n from t;\n\\g\n\\p")
    assert run.output.count("(1 row)") == 2
    assert "select count(*) as n from t;" in run.output


def test_rows_go_to_a_file_or_a_program(warehouse: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    run = _run(warehouse, f"\\pset format csv\nselect a from t order by a \\g {file}")
    assert run.exit_code == 0
    assert file.read_text() == "a\n1\n2\n"
    other = tmp_path / "others.csv"
    program = f"{sys.executable} -c 'import sys; open(sys.argv[1], \"w\").write(sys.stdin.read())'"
    _run(warehouse, f"\\pset format csv\nselect a from t order by a \\g |{program} {other}")
    assert other.read_text() == "a\n1\n2\n"


def test_all_results_go_to_a_program_until_the_next_command(
    warehouse: Path, tmp_path: Path
) -> None:
    file = tmp_path / "sorted.csv"
    run = _run(
        warehouse,
        f"\\pset format csv\n\\o |sort > {file}\nselect 2 as n;\nselect 1 as n;\n\\o",
        "select 3 as n;",
        "\\o |exit 0\n\\! sleep 0.3\nselect 4 as n;\n\\o\nselect 5 as n;",
    )
    assert file.read_text() == "1\n2\nn\nn\n"
    assert "3\n" in run.output
    assert "5\n" in run.output
    assert "has ended" in run.stderr


def test_a_row_becomes_variables_with_their_types(warehouse: Path) -> None:
    run = _run(
        warehouse,
        "select a, b from t where a = 1 \\gset got_\n"
        "\\echo :got_a :got_b :nothing\n"
        "\\pset format csv\n"
        "select a from t where a = :got_a + 1;",
    )
    assert run.output.splitlines() == ["1 x :nothing", "format is csv.", "a", "2"]


@pytest.mark.parametrize(
    ("query", "found"), [("select 1 as a where false", "no row"), ("from t", "more than one row")]
)
def test_variables_come_from_one_row(warehouse: Path, query: str, found: str) -> None:
    run = _run(warehouse, f"{query} \\gset")
    assert run.exit_code == 1
    assert found in run.output


def test_a_number_is_one_unless_it_is_quoted(warehouse: Path) -> None:
    numbers = _run(
        warehouse, "\\set n 2", "\\set m '2'", "select typeof(:n) as n, typeof(:m) as m \\gx"
    )
    assert numbers.output.splitlines()[1:3] == [" n │ INTEGER", " m │ VARCHAR"]


def test_values_run_as_statements(warehouse: Path) -> None:
    run = _run(
        warehouse,
        "select 'create table u' || a || ' (x int)' from t order by a \\gexec",
        "\\dt u*",
    )
    assert run.exit_code == 0
    assert " u1 " in run.output
    assert " u2 " in run.output


def test_columns_of_a_query_are_described(warehouse: Path) -> None:
    run = _run(warehouse, "select a, b as c from t \\gdesc")
    lines = [line.split() for line in run.output.splitlines()]
    assert ["a", "│", "INTEGER"] in lines
    assert ["c", "│", "VARCHAR"] in lines


def test_a_statement_is_watched(warehouse: Path) -> None:
    run = _run(warehouse, "select count(*) as n from t \\watch 0 c=3")
    assert run.output.count("(every 0 s)") == 3
    assert run.output.count("(1 row)") == 3


_PIVOTED = (
    "select * from (values ('a','x',1,3),('b','y',2,1),('a','y',3,1),('c',null,4,2)) v(r,h,d,s)"
)


@pytest.mark.parametrize(
    ("command", "csv"),
    [
        ("\\crosstabview r h d", "r,x,y,NULL\na,1,3,\nb,,2,\nc,,,4\n"),
        ("\\crosstabview 1 H 3 s", "r,y,NULL,x\na,3,,1\nb,2,,\nc,,4,\n"),
        ("\\crosstabview h r d", "h,a,b,c\nx,1,,\ny,3,2,\n,,,4\n"),
    ],
)
def test_values_of_a_column_become_columns(warehouse: Path, command: str, csv: str) -> None:
    run = _run(warehouse, f"\\pset format csv\n{_PIVOTED} {command}")
    assert run.output.partition("\n")[2] == csv


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("select 1, 2 \\crosstabview", "at least three columns"),
        (f"{_PIVOTED} \\crosstabview", "more than three"),
        (f"{_PIVOTED} \\crosstabview r r d", "needs two columns"),
        (f"{_PIVOTED} \\crosstabview r nix d", "the columns are r, h, d, s"),
        (f"{_PIVOTED} \\crosstabview 9", "columns 1 to 4"),
        (
            "select 1, 2, 3 union all select 1, 2, 4 \\crosstabview",
            "two values for row 1, column 2",
        ),
        ("select 1 \\watch 1 i=2", "seconds twice: i=2"),
        ("select 1 \\watch c=0", "a number above 0 in c=TIMES"),
        ("select 1 \\watch -1", "0 to 1,000,000 seconds, not -1"),
        ("select 1 \\watch often", "0 to 1,000,000 seconds, not often"),
        ("select 1 \\watch n=1", "not n=1"),
        ("\\endif", "behind no \\if"),
        ("\\if on\n\\else\n\\else\n\\endif", "stands twice"),
        ("\\if on\n\\else\n\\elif on\n\\endif", "behind \\else"),
        ("\\if maybe\n\\endif", "not maybe: it counts as false"),
        ("\\if on", "ends before 1 \\endif"),
        ("\\password a b", "takes one role"),
    ],
)
def test_commands_refuse_wrong_arguments(warehouse: Path, typed: str, said: str) -> None:
    run = _run(warehouse, typed)
    assert run.exit_code == 1
    assert said in run.output


def test_parts_run_as_conditions_say(warehouse: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sql"
    other.write_text("\\if :{?two}\n\\echo from the file\n\\endif\n\\endif\n")
    script = f"""\\set two 2
\\if false
select 'no;\\if' as x; \\else
\\if true
\\if 0
\\echo skipped
\\elif :{{?two}}
\\echo second
\\elif on
\\echo skipped
\\else
\\echo skipped
\\endif
\\endif
\\endif
\\i {other}
select nix from t;
\\if :ERROR
\\echo :SQLSTATE
\\endif
select a from t;
\\if :ERROR \\echo skipped
\\else
\\echo :ROW_COUNT rows
\\endif
"""
    run = _run(warehouse, script)
    lines = run.output.splitlines()
    assert [w for w in lines if w in {"second", "from the file", "42703", "2 rows", "skipped"}] == [
        "second", "from the file", "42703", "2 rows",
    ]  # fmt: skip
    assert "\\endif stands behind no \\if" in run.output


def test_a_statement_goes_on_around_a_part_that_does_not_run(warehouse: Path) -> None:
    script = "\\pset format csv\nselect 1 as a\n\\if false\n, 2 as b;\n\\endif\n, 3 as c;"
    assert _run(warehouse, script).output.endswith("a,c\n1,3\n")
    wrong = _run(warehouse, "select 1 as a\n\\if false\n, 2\n\\else\n, 3\n\\endif\n, nix;")
    assert " 7 │ , nix" in wrong.output


def test_a_watch_ends_with_too_few_rows(warehouse: Path) -> None:
    run = _run(warehouse, "\\pset rows 1\nselect a from t \\watch 0 min_rows=3 c=5")
    assert run.output.count("(every 0 s)") == 1
    run = _run(warehouse, "\\pset rows 1\nselect a from t \\watch i=0 m=2 count=3")
    assert run.output.count("(every 0 s)") == 3


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("\\di", "by_b"), ("\\ds", "ids"), ("\\df add*", "add_two"), ("\\dT", "mood")),
        *(("\\d+", "t"), ("\\du", "readers"), ("\\dp t", "readers")),
    ],
)
def test_what_there_is_is_listed(warehouse: Path, command: str, name: str) -> None:
    run = _run(warehouse, command)
    assert run.exit_code == 0
    assert f" {name} " in run.output


def test_the_buffer_is_written_and_forgotten(warehouse: Path, tmp_path: Path) -> None:
    file = tmp_path / "typed.sql"
    run = _run(warehouse, f"select nonsense\n\\w {file}\n\\r\nselect 1 as one;")
    assert run.exit_code == 0
    assert file.read_text() == "select nonsense\n"
    assert "forgotten" in run.output


def test_a_file_is_edited_and_run(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho 'select 40 + 2 as edited;' > \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    run = _run(warehouse, "select 1\n\\e")
    assert "42" in run.output
    assert "edited" in run.output


def test_a_program_of_the_system_runs(warehouse: Path) -> None:
    run = _run(warehouse, "\\! exit 3\n\\echo :SHELL_EXIT_CODE")
    assert run.output.splitlines() == ["3"]


def test_a_wrong_command_names_the_near_one(warehouse: Path) -> None:
    assert "did you mean \\timing?" in _run(warehouse, "\\tming").output


def test_errors_of_commands_show_the_place_in_the_statement(warehouse: Path) -> None:
    run = _run(warehouse, "select 1;\nselect bad from t \\gx")
    assert " 2 │ select bad from t" in run.output
    assert "   │        ^" in run.output


@pytest.mark.parametrize(
    ("statement", "asks"),
    [
        ("delete from t", True),
        ("update t set b = 'y'", True),
        ("-- all of it\ndelete from t", True),
        ("with s as (select 1) delete from t", True),
        ("delete from t where a = 1", False),
        ("update t set b = s.b from s where s.a = t.a", False),
        ("delete from t using s", False),
        ("truncate t", False),
        ("delete from", False),
    ],
)
def test_a_question_comes_before_every_row_is_changed(statement: str, asks: bool) -> None:
    assert (question_about(statement, "duckdb") is not None) is asks


def test_views_and_macros_are_shown_as_statements_that_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "w"
    _run(
        place,
        "create table t (a int primary key); insert into t values (1), (2);"
        "create view v as select a from t where a > 1;"
        "create macro m(x, y := 2) as x + y; create macro rows_above(x) as table"
        " select a from t where a > x;",
    )
    for what, name in (("v", "v"), ("f", "m"), ("f", "rows_above")):
        shown = _run(place, f"\\s{what} {name}")
        assert shown.output.startswith("CREATE OR REPLACE "), shown.output
        assert _run(place, shown.output).exit_code == 0
    assert _run(place, "\\x off\nselect m(1), m(1, 5) as n; select * from rows_above(1);").output
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys; p = pathlib.Path(sys.argv[1]);"
        "p.write_text(p.read_text().replace('a > 1', 'a > 0').strip() + ';')"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    run = _run(place, "\\ev v\nselect count(*) as n from v;")
    assert run.output.split() == ["CREATE", "VIEW", "n", "───", "2", "(1", "row)"]
    missing = _run(place, "\\sv nix", "\\sf nix")
    assert "there is no view nix" in missing.stderr
    assert "there is no macro nix" in missing.stderr


def test_dot_commands_stand_for_backslash_commands(warehouse: Path, tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text("select 7 as seven;\n")
    run = _run(
        warehouse,
        f".tables t\n.mode csv\nselect 1 as a;\n.mode duckbox\nselect 1\n.5 as b;\n.read {script}\n"
        ".mode line\nselect 3 as c;\n.tabels",
    )
    assert "main" in run.output
    assert "a\n1\n" in run.output
    assert "1.5" in run.output
    assert "seven" in run.output
    assert " c │ 3" in run.output
    assert "there is no command .tabels; did you mean .tables?" in run.stderr
    assert run.exit_code == 1
