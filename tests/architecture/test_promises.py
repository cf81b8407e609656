"""The pages of promises: each promise names tests, and these are there."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.sources import ROOT

_PAGES = ("server-promises.md", "governance-promises.md", "lineage-promises.md")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("page", _PAGES)
def test_each_promise_names_tests_that_are_there(page: str) -> None:
    rows = [
        line
        for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
        if line[:2] == "| "
    ]
    promises = [row for row in rows if not row.startswith("| promise")]
    assert promises
    assert [row for row in promises if _TEST.search(row) is None] == []
    missing = []
    for path, name in _TEST.findall("\n".join(promises)):
        file = ROOT / path
        tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            missing.append(f"{path}::{name}")
    assert missing == []
