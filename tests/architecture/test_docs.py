"""README and docs are true: their links lead somewhere, and every block is run or says why not.

The blocks themselves are run by tests/docs.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from gateway.cli import main
from tests.architecture.sources import ROOT
from tests.support.pages import untold

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"`palimpsest ((?:[a-z][a-z|]*(?![\w.:/=-]) ?)+)")
MODULE = re.compile(r"python -m ([\w.]*\w)")
BENCH = re.compile(r"`(bench\.\w+)`")
TESTS = re.compile(r"\b(tests/[\w/.*]*\w\*?(?:\.py|/)?)(?=[`\s)])")
MAKE = re.compile(r"^\s*make ([a-z-]+)", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_blocks_are_run_or_say_why_not(page: Path) -> None:
    assert not untold(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_in_the_text_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    unknown = {words for words in COMMAND.findall(text) if not _is_command(words.split())}
    assert not unknown


def _is_command(words: list[str]) -> bool:
    """True for a command that there is; of a group its command, too, or several: place|release."""
    found: click.Command | None = main
    for word in words:
        if not isinstance(found, click.Group):
            return True
        named = [found.get_command(click.Context(found), name) for name in word.split("|")]
        if None in named:
            return False
        found = named[0]
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_modules_and_tests_in_the_text_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = [*MODULE.findall(text), *BENCH.findall(text)]
    places = [
        ROOT / name.replace(".", "/") for name in names if name.startswith(("tests", "bench"))
    ]
    lost = [
        p for p in places if not (p / "__main__.py").exists() and not p.with_suffix(".py").exists()
    ]
    assert not lost
    assert not [name for name in TESTS.findall(text) if not list(ROOT.glob(name.rstrip("/")))]
