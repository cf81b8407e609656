"""The logic runner itself: right expectations pass, wrong ones are told; on the oracle alone."""

from pathlib import Path

import pytest

from tests.support.logic.__main__ import complete_file
from tests.support.logic.records import LogicFileError, parse_text
from tests.support.logic.runner import Disturbance, run_records
from tests.support.oracle import Oracle

PLAIN = Disturbance()
SETUP = """
statement ok
CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)

statement count 2
INSERT INTO t VALUES (1, 'a'), (2, NULL)

"""


def _mismatches(script: str, disturbance: Disturbance = PLAIN) -> list[str]:
    oracle = Oracle()
    try:
        found = run_records(parse_text(SETUP + script), oracle, disturbance)
        return [mismatch.reason for mismatch in found]
    finally:
        oracle.close()


def test_right_expectations_pass() -> None:
    script = "query IT\nSELECT k, v FROM t\n----\n2\tNULL\n1\ta\n\n"
    script += "statement error 23505\nINSERT INTO t VALUES (1, 'x')\n"
    assert _mismatches(script) == []


@pytest.mark.parametrize(
    "script",
    [
        "query IT\nSELECT k, v FROM t\n----\n1\ta\n",
        "query TT\nSELECT k, v FROM t\n----\n1\ta\n2\tNULL\n",
        "query I nosort\nSELECT k FROM t ORDER BY k\n----\n2\n1\n",
        "query I\nDELETE FROM t\n----\n",
        "statement error 23502\nINSERT INTO t VALUES (1, 'x')\n",
        "statement error 23\nINSERT INTO t VALUES (5, 'x')\n",
        "statement ok\nINSERT INTO t VALUES (1, 'x')\n",
        "statement count 3\nDELETE FROM t\n",
        "query I rowsort same\nSELECT 1\n----\n1\n\nquery I rowsort same\nSELECT 2\n----\n2\n",
    ],
)
def test_wrong_expectation_is_told(script: str) -> None:
    assert len(_mismatches(script)) == 1


def test_connections_see_only_what_is_committed() -> None:
    script = """
connection a

statement ok
BEGIN

statement count 1
DELETE FROM t WHERE k = 1

connection b

query I
SELECT count(*) FROM t
----
2

connection a

statement ok
COMMIT

connection b

query I
SELECT count(*) FROM t
----
1
"""
    assert _mismatches(script) == []
    assert _mismatches(script, Disturbance(restart=True)) == []


def test_restart_ends_open_transactions() -> None:
    script = "statement ok\nBEGIN\n\nstatement count 2\nDELETE FROM t\n\nrestart\n\n"
    assert _mismatches(script + "query I\nSELECT count(*) FROM t\n----\n2\n") == []


def test_skipif_onlyif_and_halt_are_obeyed() -> None:
    wrong = "query I\nSELECT 1\n----\n2\n\n"
    assert _mismatches("skipif oracle\n" + wrong) == []
    assert _mismatches("onlyif gateway\n" + wrong) == []
    assert len(_mismatches("onlyif oracle\n" + wrong)) == 1
    assert _mismatches("halt\n" + wrong) == []


def test_unreadable_record_names_its_line() -> None:
    with pytest.raises(LogicFileError, match=":3:"):
        parse_text("\n\nstatement maybe\nSELECT 1\n")


def test_completion_writes_what_the_oracle_gives(tmp_path: Path) -> None:
    path = tmp_path / "x.slt"
    path.write_text(SETUP + "# kept\nquery ?\nSELECT k, v FROM t\n\nstatement ok\nSELEC\n")
    complete_file(path)
    text = path.read_text()
    assert "# kept\nquery IT rowsort\nSELECT k, v FROM t\n----\n1\ta\n2\tNULL\n\n" in text
    assert "statement error 42601\nSELEC" in text
