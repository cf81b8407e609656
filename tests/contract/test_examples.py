"""The scripts in examples/ run and print what they promise."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.warm_python import warm_python

EXPECTED = {
    "dbapi": ["23505: duplicate key", "1 Ada 70.00", "2 Bob 80.00", "3 Cyd 0.00"],
    "time_travel": ["[('tea', 25000)]", "[('milk', 120), ('tea', 250)]", "(370,)"],
    "sqlalchemy_orm": ["['Fran', 'Grace Hopper']", "['Fran', 'Grace']"],
}
START = (
    "import runpy, sys; from sqlalchemy.dialects import registry;"
    "registry.register('palimpsest', 'gateway.sqlalchemy_dialect', 'PalimpsestDialect');"
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Registers the dialect as the installed entry point would, then runs the script."""


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("where", ["temporary", "path"])
def test_example(name: str, where: str, root: Path, tmp_path: Path) -> None:
    script = str(root / "examples" / f"{name}.py")
    arguments = [f"palimpsest:///{tmp_path / 'warehouse'}"] if where == "path" else []
    done = subprocess.run(
        [warm_python(), "-c", START, script, *arguments],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in EXPECTED[name]:
        assert line in done.stdout


def test_every_example_is_tested(root: Path) -> None:
    assert {path.stem for path in (root / "examples").glob("*.py")} == set(EXPECTED)
