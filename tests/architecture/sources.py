"""The source tree as the architecture tests see it: files, parsed once, never imported."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gateway", "rewriter", "journal", "spark_compaction")
GENERATED = frozenset({"gateway/servers/hive/wire/ttypes.py"})
"""Files that a compiler writes; nobody reads or edits them."""


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file: where it lies, its text and its syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The path from the root, as people write it."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def module(self) -> str:
        """The dotted name under which the file is imported."""
        return self.name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method in the file."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node for node in ast.walk(self.tree) if isinstance(node, kinds)]


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """All Python files below the named folders of the repository that people write."""
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.relative_to(ROOT).as_posix() in GENERATED:
                continue
            found.append(_source(path))
    return tuple(found)


@cache
def _source(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(path, text, ast.parse(text, str(path)))
