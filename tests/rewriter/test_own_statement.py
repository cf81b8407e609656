"""A statement that sqlglot does not parse takes a module and a line in a list, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.shell.syntax import FORMS
from rewriter.statements.own_statement import OWN, OwnEntry, OwnStatement
from rewriter.syntax.own_statements import first_words
from tests.support.client import Client


def test_each_entry_names_a_statement_and_its_form() -> None:
    for words, entry in OWN.items():
        assert FORMS[words] == entry.form
        first, *rest = words.split()
        assert entry.form.startswith(first)
        assert all(word in entry.form.split() for word in rest)
        assert entry.module.startswith("rewriter.own.")
        assert words.split()[0] in first_words()


def test_a_module_and_a_line_make_a_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OWN, "PEEK", OwnEntry("tests.rewriter.peek", "PEEK TABLE t"))
    run = Client(tmp_path / "warehouse", user="root")
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run("INSERT INTO t VALUES (1)")
    assert run("PEEK TABLE t") == [(1,)]
    assert run.error("PEEK TABLE u") == ("PAL-201", "42P01")
    assert run.error("PEEK t") == ("PAL-101", "42601")
    run("CREATE ROLE ann")
    run("SET ROLE ann")
    assert run.error("PEEK TABLE t") == ("PAL-201", "42P01")
    run.close()


def test_a_statement_that_forgets_a_part_is_none() -> None:
    class Forgetful(OwnStatement):
        """It says neither who may run it nor what it does."""

        @classmethod
        def read(cls, tokens: object, parse: object) -> None:
            return None

    with pytest.raises(TypeError, match="check"):
        Forgetful()  # type: ignore[abstract]
