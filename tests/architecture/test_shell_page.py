"""docs/shell.md says what the shell says: its backslash commands, its options, the exit codes."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from gateway.cli import main
from gateway.commands import failure
from gateway.shell.formats import FORMATS
from gateway.shell.syntax import FORMS, statement_help


def _page(root: Path) -> str:
    return (root / "docs" / "shell.md").read_text(encoding="utf-8")


def test_the_page_lists_the_commands_that_the_shell_lists(root: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(main, ["shell", str(tmp_path / "w"), "-c", "\\?"])
    listed = set(re.findall(r"^  (\\\S+)", run.output, re.MULTILINE))
    rows = [line for line in _page(root).splitlines() if line.startswith("| `\\")]
    assert listed == {name for row in rows for name in re.findall(r"`(\\[a-zA-Z?!]+)", row)}


def test_exit_codes_are_the_same_everywhere(root: Path) -> None:
    written = dict(re.findall(r"^\| (\d+) \| (.+) \|$", _page(root), re.MULTILINE))
    said = CliRunner().invoke(main, ["--help"], terminal_width=200).output
    helped = dict(re.findall(r"^    (\d+) +(\S.*)$", said, re.MULTILINE))
    plain = {code: text.replace("`", "") for code, text in written.items()}
    assert plain == helped
    codes = (failure.STATEMENT, failure.USAGE, failure.CONNECTION, failure.CONFLICT)
    assert {int(code) for code in written} == {0, *codes, failure.COPIES_LEFT, failure.INTERRUPTED}


def test_the_page_names_every_format(root: Path) -> None:
    for name in FORMATS:
        assert re.search(rf"\b{name}\b", _page(root))


def test_every_form_can_be_asked_for() -> None:
    for name, form in FORMS.items():
        assert form in statement_help(name.lower())
        assert max(len(line) for line in form.splitlines()) <= 100


def test_help_finds_a_form_by_any_of_its_words() -> None:
    assert statement_help("macro").startswith("CREATE [OR REPLACE] [TEMP] MACRO")
    assert "DROP MACRO" in statement_help("macro")
