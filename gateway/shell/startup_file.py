"""The file of commands that a shell at a terminal runs before its first prompt, as ~/.psqlrc is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gateway.shell.command_context import CommandContext, StopScript


def startup_path() -> Path:
    """Where it is looked for: PALIMPSEST_SHELLRC, else the user's folder of configurations."""
    given = os.environ.get("PALIMPSEST_SHELLRC")
    if given:
        return Path(given)
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "palimpsest" / "shellrc"


def run_startup_file(shell: CommandContext) -> None:
    """Run it, if there is one; what fails in it is shown, and nothing of it begins a statement."""
    path = startup_path()
    try:
        script = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        shell.write_message(f"the startup file {path} cannot be read: {error}", error=True)
        return
    with suppress(StopScript):
        shell.run_script(script)
