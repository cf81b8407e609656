"""A fourth store is short, because shared code does the work."""

from __future__ import annotations

import ast
import io
import tokenize

from tests.architecture.sources import Source, sources

CODE_LINES_MAX = 600
_SILENT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def test_the_toy_store_is_short() -> None:
    lines = {source.name: code_lines(source) for source in sources("tests/contract/toy_store")}
    assert sum(lines.values()) < CODE_LINES_MAX, lines


def code_lines(source: Source) -> int:
    """Lines with code: neither docstrings nor comments nor blank ones."""
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    found: set[int] = set()
    for token in tokens:
        if token.type not in _SILENT:
            found |= set(range(token.start[0], token.end[0] + 1))
    return len(found - _docstring_lines(source.tree))


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                found |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found
