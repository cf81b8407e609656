"""docs/cli.md says what the commands say."""

from __future__ import annotations

import click
import pytest

from gateway.cli import COMMANDS, SUMMARIES, main
from tests.architecture.cli_reference import PAGE, page


def test_cli_reference_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs` to renew docs/cli.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert found.get_short_help_str(limit=200) == SUMMARIES[name]
