"""docs/cli.md, made from the commands' own help. `make docs` writes it, a test compares it."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from gateway.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"

HEAD = """# Command line

What `palimpsest` and each of its commands say with `--help`. This page is made by `make docs`; a
test compares it with the commands.
"""


def help_of(*path: str) -> str:
    """The help text of a command, as wide as the page."""
    run = CliRunner().invoke(
        main, [*path, "--help"], prog_name="palimpsest", terminal_width=96, color=False
    )
    assert run.exit_code == 0, run.output
    return "\n".join(line.rstrip() for line in run.output.strip().splitlines())


def page() -> str:
    """The whole page."""
    sections = [HEAD, f"```text\n{help_of()}\n```\n"]
    for name in main.list_commands(click.Context(main)):
        sections.append(f"## palimpsest {name}\n\n```text\n{help_of(name)}\n```\n")
        found = main.get_command(click.Context(main), name)
        for inner in sorted(found.commands) if isinstance(found, click.Group) else ():
            shown = help_of(name, inner)
            sections.append(f"### palimpsest {name} {inner}\n\n```text\n{shown}\n```\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
