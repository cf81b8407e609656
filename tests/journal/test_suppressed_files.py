"""What an erasure by a condition keeps out of files that are loaded, and at the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main
from tests.support import suppressing
from tests.support.client import Client


@pytest.mark.long
def test_files_are_loaded_without_the_erased_ones(run: Client, tmp_path: Path) -> None:
    suppressing.make(run)
    run(f"ERASE FROM p WHERE email = '{suppressing.MAIL}' AND phone IN (11)")
    file = tmp_path / "rows.csv"
    file.write_text(f"id,email,phone\n501,{suppressing.MAIL},0\n502,,0\n503,x,11\n504,y,1\n")
    copy = f"COPY p (id, email, phone) FROM '{file}' (HEADER{{}})"
    suppressing.refused(run, copy.format(""))
    suppressing.refused(run, copy.format(", SUPPRESSED refuse"))
    assert run.error(copy.format(", SUPPRESSED maybe"))[0] == "PAL-110"
    assert run.error("SET suppressed_rows = 'maybe'")[0] == "PAL-222"
    done = run.connection.execute(copy.format(", SUPPRESSED skip"))
    assert (done.rowcount, done.skipped) == (2, 2)
    run("DELETE FROM p WHERE id IN (502, 504)")
    run.close()
    words = ["import", str(file), "p", "--warehouse", str(run.root)]
    stopped = CliRunner().invoke(main, words)
    assert "PAL-306" in stopped.output
    assert "qz7" not in stopped.output.lower()
    loaded = CliRunner().invoke(main, [*words, "--suppressed", "skip"])
    assert "2 rows (2 suppressed rows skipped)" in loaded.output, loaded.output
    file.write_text(f"id,email\n601,{suppressing.MAIL}\n602,x\n")
    told = CliRunner().invoke(main, [*words, "--suppressed", "skip", "--json"])
    assert [json.loads(told.output)[name] for name in ("rows", "skipped")] == [1, 1]


@pytest.mark.long
def test_people_who_are_named_stay_free_in_tables_that_are_denied(run: Client) -> None:
    suppressing.make(run)
    run.close()

    def erase(*words: str) -> str:
        done = CliRunner().invoke(main, ["erase", *words, "--warehouse", str(run.root)])
        assert done.exit_code == 0, done.output
        return done.output

    erase("scope", "--deny", "main.q")
    dry = erase("submit", "--subject", "email=e@x.example", "--dry-run")
    told = erase("submit", "--subject", "email=e@x.example")
    for text in (dry, told):
        assert "denied by main.q; identifiers that rows outside the request hold (1 in" in text
        assert "are not suppressed there" in text
    told = erase("submit", "--subject", "email=other", "--scope", "all")
    assert "are suppressed all the same, as SCOPE ALL says" in told
    erase("submit", "--subject", "email=f@x.example", "--scope", "key")
    again = Client(run.root)
    suppressing.refused(again, "INSERT INTO p VALUES (900, 'e@x.example', 0, 0)")
    assert again("INSERT INTO q VALUES (900, 'e@x.example')") == 1
    suppressing.refused(again, "INSERT INTO q VALUES (901, 'other')")
    assert again("UPDATE q SET k = 22 WHERE k = 2") == 1
    suppressing.refused(again, "INSERT INTO p VALUES (6, 'x', 0, 0)")
    assert again("INSERT INTO p VALUES (900, 'f@x.example', 0, 0)") == 1
    again.close()


def test_a_scope_of_identifiers_needs_a_condition_that_names_some(run: Client) -> None:
    suppressing.make(run)
    assert run.error("ERASE FROM p WHERE n = 0 SCOPE ALL")[0] == "PAL-510"
    assert run.error("ERASE FROM p WHERE email = 'x' SCOPE NOBODY")[0] == "PAL-222"
    before = "ERASE FROM p WHERE email = ? AND phone IN (?, NULL) SCOPE IDENTIFIER REASON 'r'"
    told = suppressing.remarks(run(before, suppressing.MAIL, 11))
    assert "1 of email, 1 of phone" in told or "1 of phone, 1 of email" in told
    suppressing.refused(run, "INSERT INTO p VALUES (900, 'x', 11, 0)")


def test_fields_of_a_column_name_people_as_well(run: Client) -> None:
    run(
        "CREATE TABLE s (k INTEGER PRIMARY KEY, who STRUCT(mail VARCHAR), mails VARCHAR[])"
        " WITH (erasure = 'who.mail AS email, mails[] AS email')"
    )
    run("INSERT INTO s VALUES (1, {'mail': 'a'}, ['b']), (2, {'mail': 'c'}, ['a', 'd'])")
    told = suppressing.remarks(run("ERASE FROM s WHERE s.who.mail = 'a'"))
    assert "1 of email" in told
    assert "(1 in" in told
    assert run("INSERT INTO s VALUES (3, {'mail': 'a'}, NULL)") == 1
    run("ERASE FROM s WHERE who.mail IN ('c') SCOPE ALL")
    suppressing.refused(run, "INSERT INTO s VALUES (4, NULL, ['x', 'c'])")
