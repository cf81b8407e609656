"""The comparisons over outside suites: causes that follow from others, and what is documented."""

import re
from pathlib import Path

from tests.differential.duckdb_suite.comparison import compare_file
from tests.differential.postgres_suite.comparison import DOCUMENTED, INTERNAL, UNTRACED
from tests.differential.postgres_suite.scripts import read_script
from tests.differential.suites.differences import FileTally

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def test_documented_causes_stand_in_the_docs() -> None:
    section = PAGE.read_text().split("## What PostgreSQL has and the gateway refuses")[1]
    told = re.findall(r"\*\*(.+?)\*\*", section.split("\n## ")[0])
    assert sorted(told) == sorted({*INTERNAL, *DOCUMENTED, *UNTRACED})


def test_a_difference_follows_from_the_statement_that_its_things_come_from() -> None:
    tally = FileTally("f.sql", {"functions": r"^CREATE FUNCTION"})
    tally.add(1, "CREATE FUNCTION f() RETURNS int", "[PAL-110] not supported", "[PAL-110] ..")
    tally.add(2, "CREATE TABLE t (a money)", "[PAL-211] no type", "[PAL-211] no type")
    tally.add(3, "CREATE VIEW v AS SELECT * FROM t", "[PAL-201] t does not exist", "[PAL-201]")
    tally.add(4, "SELECT * FROM v", "[PAL-201] table v does not exist", "[PAL-201]")
    tally.add(5, "SELECT * FROM f(1)", "[PAL-110] f is not supported", "[PAL-110] f")
    tally.add(6, "SELECT * FROM u", "[PAL-201] table u does not exist", "[PAL-201] u")
    tally.add(7, "SELECT 1", "[PAL-402] aborted", "[PAL-402] aborted")
    tally.add(8, "ROLLBACK TO s", "[PAL-406] savepoint s does not exist", "[PAL-406] ..")
    tally.add(9, "INSERT INTO t VALUES (1)", "accepted\nviolates a check", "accepted: ..")
    found = [(d.cause, d.internal) for d in tally.differences]
    assert found == [
        ("functions", True),
        ("[PAL-211] no type", False),
        ("after [PAL-211] no type", False),
        ("after [PAL-211] no type", False),
        ("after functions", True),
        ("[PAL-201] u", False),
        ("after [PAL-201] u", False),
        ("after [PAL-201] u", False),
        ("after [PAL-211] no type", False),
    ]


def test_what_a_refused_trigger_would_have_written_follows_from_it() -> None:
    tally = FileTally("f.test", {"triggers": r"\bTRIGGER\b"})
    trigger = "CREATE TRIGGER a AFTER UPDATE ON t MERGE INTO sums USING n ON true WHEN MATCHED .."
    tally.add(1, trigger, "[PAL-110] not supported", "[PAL-110] ..")
    tally.add(2, "SELECT * FROM sums", "rows\n[1]\n[]", "rows")
    tally.add(3, "SELECT * FROM others", "rows\n[1]\n[]", "rows")
    found = [(d.cause, d.internal) for d in tally.differences]
    assert found == [("triggers", True), ("after triggers", True), ("rows", False)]


def test_what_an_ended_transaction_had_changed_follows_from_its_end() -> None:
    tally = FileTally("f.test", {"settings": r"^SET a"})
    tally.add(1, "SET a = 1", "[PAL-221] there is no setting")
    tally.add(2, "BEGIN", None)
    tally.add(3, "ALTER VIEW v RENAME TO w", None)
    tally.add(4, "COMMIT", "[PAL-402] the transaction is aborted")
    tally.add(5, "SELECT * FROM w", "[PAL-201] table w does not exist")
    tally.add(6, "SELECT * FROM other", "[PAL-201] table other does not exist")
    assert [d.internal for d in tally.differences] == [True, True, True, False]


def test_what_is_changed_behind_a_refused_begin_follows_from_it() -> None:
    tally = FileTally("f.test", {}, {"levels": r"PAL-110"})
    tally.add(1, "/* Above */ BEGIN ISOLATION LEVEL SERIALIZABLE", "[PAL-110] is not supported")
    tally.add(2, "UPDATE t SET a = 1", None)
    tally.add(3, "ROLLBACK", None)
    tally.add(4, "UPDATE u SET a = 1", None)
    tally.add(5, "SELECT * FROM t", "rows\n[1]\n[0]", "rows")
    tally.add(6, "SELECT * FROM u", "rows\n[1]\n[0]", "rows")
    assert [d.internal for d in tally.differences] == [True, True, False]


def test_a_listing_follows_from_what_it_would_list() -> None:
    tally = FileTally("f.test", {"databases": r"^ATTACH"})
    tally.add(1, "ATTACH ':memory:' AS other", "[PAL-110] ATTACH is not supported")
    tally.add(2, "SHOW SCHEMAS", "rows\n[('other', 'main')]\n[]")
    tally.add(3, "SHOW TABLES", "rows\n[('t',)]\n[]")
    assert [d.internal for d in tally.differences] == [True, True, False]


def test_a_script_is_read_forward_where_a_copy_has_no_rows() -> None:
    script = "SELECT 1;\nCOPY t FROM stdin;\n3\n\\.\nCOPY t (a, b) FROM stdin;\nSELECT 2;\n"
    found = [(s.line, s.rows) for s in read_script(script)]
    assert found == [(1, None), (2, "3\n"), (5, ""), (6, None)]


def test_only_an_answer_that_hangs_on_chance_is_left_to_it(tmp_path: Path) -> None:
    script = tmp_path / "f.test"
    script.write_text(
        "statement ok\nCREATE TABLE t AS SELECT random() AS r\n\nquery I\nSELECT r FROM t\n\n"
        "query I\nSELECT DISTINCT catalog_name FROM information_schema.schemata, t\n"
    )
    found = compare_file(str(script), None, str(tmp_path))
    assert [d["cause"] for d in found["differences"]] == ["values at random", "rows"]
