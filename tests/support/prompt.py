"""The command line, run in this process."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from gateway.cli import main

PASSPHRASE = "correct horse battery"


def palimpsest(root: Path, *arguments: str) -> Result:
    """Run ``palimpsest`` on a warehouse."""
    environment = {"PALIMPSEST_WAREHOUSE": str(root), "PALIMPSEST_PASSPHRASE": PASSPHRASE}
    return CliRunner().invoke(main, list(arguments), env=environment)
