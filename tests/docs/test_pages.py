"""Blocks of README and docs run as written, in the order of their page, and print what it says.

Which blocks these are, tests/support/pages.py tells; a block that is not run says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.docs.newcomer import Surroundings
from tests.support.clean_environment import ROOT
from tests.support.pages import Block, parts

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


_LONG = frozenset({"replication", "privacy", "governance", "control-api"})
"""Pages whose commands take longest, since each starts a program or waits for a server."""


def _parameter(page: Path, part: list[Block]) -> Any:
    name = f"{page.relative_to(ROOT).as_posix()}:{part[0].line}"
    on_spark = any("+hive:" in block.code for block in part if block.is_run)
    # Spark's server takes a minute to begin; the other tests of Hive have it running.
    marks = [pytest.mark.timeout(900), pytest.mark.stores] if on_spark else []
    if page.stem in _LONG:
        marks.append(pytest.mark.long)
    return pytest.param(part, id=name, marks=marks)


PARTS = [
    _parameter(page, part)
    for page in PAGES
    for part in parts(page)
    if any(block.is_run for block in part)
]


def shows(output: str, printed: str) -> bool:
    """True if a page shows what was printed; ``...`` stands for any characters of a line."""
    pattern = r"[^\n]*".join(re.escape(piece) for piece in output.rstrip().split("..."))
    return re.fullmatch(pattern, printed.rstrip()) is not None


@pytest.mark.parametrize("part", PARTS)
def test_blocks_run_as_written(
    part: list[Block], surround: Callable[[str], AbstractContextManager[Surroundings]]
) -> None:
    blocks = [block for block in part if block.is_run]
    with surround("\n".join(block.code for block in blocks)) as surroundings:
        for block in blocks:
            done = surroundings.run(block)
            said = f"line {block.line}:\n{block.code}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == 0, said
            if block.output is not None:
                assert shows(block.output, done.stdout), said
