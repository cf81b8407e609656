"""Errors teach: each says what to do, and docs/errors.md has a section per code, in their order."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from journal.model.errors import Code
from tests.architecture.sources import PACKAGES, sources

SECTION = re.compile(r"^### (PAL-\d{3}) (.+) \(([0-9A-Z]{5})\)$", re.MULTILINE)


def sections(root: Path) -> list[tuple[str, str, str, str]]:
    """Code, title, SQLSTATE and body of every section of the page."""
    text = (root / "docs" / "errors.md").read_text(encoding="utf-8")
    marks = list(SECTION.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        (mark[1], mark[2], mark[3], text[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=True)
    ]


def test_every_code_has_its_section(root: Path) -> None:
    declared = [(c.value.code, c.value.title, c.value.sqlstate) for c in Code]
    written = [section[:3] for section in sections(root)]
    assert sorted(written) == sorted(declared)


def test_codes_are_unique_and_the_page_is_in_order(root: Path) -> None:
    codes = [member.value.code for member in Code]
    assert len(set(codes)) == len(codes)
    written = [section[0] for section in sections(root)]
    assert written == sorted(written)


def test_every_section_says_why_and_what_to_do(root: Path) -> None:
    silent = [
        code
        for code, _, _, body in sections(root)
        if len(body) < 60 or "**What to do.**" not in body
    ]
    assert not silent


def test_every_error_says_what_to_do() -> None:
    silent = [
        f"{source.name}:{node.lineno}"
        for source in sources(*PACKAGES)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "PalimpsestError"
        and "advice" not in {given.arg for given in node.keywords}
    ]
    assert not silent, f"give advice: {silent}"


def test_every_code_is_raised_somewhere(root: Path) -> None:
    used = set()
    for package in ("journal", "rewriter", "gateway", "spark_compaction"):
        for path in (root / package).rglob("*.py"):
            if path != root / "journal/model/errors.py":
                used.update(re.findall(r"\bCode\.([A-Z_]+)", path.read_text(encoding="utf-8")))
    unused = sorted(member.name for member in Code if member.name not in used)
    assert not unused
