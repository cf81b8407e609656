"""README and docs are true: their links lead somewhere and their commands run as written.

A block below the comment `<!-- runnable -->` is run: `sh` blocks with the `palimpsest` of this
environment, `python` blocks as one script. Blocks of one page run in order and share a folder that
is empty at first. An `output` block right behind one must equal what it printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
RUNNABLE = re.compile(
    r"<!-- runnable -->\n```(sh|python)\n(.*?)^```$(?:\n+```output\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
MAKE = re.compile(r"^\s*make ([a-z-]+)", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A runnable block of a page, and what it must print where the page says so."""

    language: str
    code: str
    output: str | None


def blocks(page: Path) -> list[Block]:
    """The runnable blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], m[3]) for m in RUNNABLE.finditer(text)]


def anchors(page: Path) -> set[str]:
    """The anchors that headings of a page make."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(target)
    assert not broken


def test_every_page_is_linked_from_another() -> None:
    linked: set[Path] = set()
    for page in PAGES:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            found = (page.parent / target.partition("#")[0]).resolve()
            linked.update(found.glob("*.md") if found.is_dir() else [found])
    lost = [
        p.name for p in PAGES if p not in linked and p.name not in {"README.md", "CHANGELOG.md"}
    ]
    assert not lost


def test_make_targets_in_documents_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        t
        for page in PAGES
        for t in MAKE.findall(
            "\n".join(m[0] for m in BLOCK.finditer(page.read_text(encoding="utf-8")))
        )
    }
    assert named <= targets


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p)], ids=lambda p: p.relative_to(ROOT).as_posix()
)
def test_runnable_blocks_run_as_written(page: Path, tmp_path: Path) -> None:
    binaries = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "TERM": "dumb",
    }
    for block in blocks(page):
        program = ["sh", "-eu", "-c"] if block.language == "sh" else [sys.executable, "-c"]
        run = subprocess.run(
            [*program, block.code], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert run.returncode == 0, f"{block.code}\n{run.stdout}\n{run.stderr}"
        if block.output is not None:
            assert run.stdout.rstrip() == block.output.rstrip(), block.code
