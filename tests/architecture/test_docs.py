"""README and docs are true: their links lead somewhere, and every block is run or says why not.

The blocks themselves are run by tests/docs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.support.pages import untold

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
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
