"""Relative paths of a client that works in another folder than this process.

A statement names files as its client sees them: in COPY, as arguments of functions that read files,
and where a quoted name stands for one. Pure.
"""

from __future__ import annotations

import os
from dataclasses import replace

from sqlglot import exp

from journal.model.places import scheme_of
from rewriter.functions import FILE_FUNCTIONS
from rewriter.reading.sources import file_function
from rewriter.statement import Explain, SqlStatement
from rewriter.syntax.parsing import Parsed

_QUOTES = frozenset("'\"`$")


def in_folder(parsed: Parsed, folder: str) -> Parsed:
    """The statement with relative paths made absolute; the same object if it has none."""
    given = parsed.statement
    explained = given.statement if isinstance(given, Explain) else given
    if not isinstance(explained, SqlStatement):
        return parsed
    if not _QUOTES.intersection(parsed.text):
        # Whatever names a file is in quotes.
        return parsed
    ast = explained.ast.copy()
    # Every node has its turn: one statement may name several files.
    if not sum(_place(node, folder) for node in list(ast.walk())):
        return parsed
    changed = SqlStatement(ast)
    statement = replace(given, statement=changed) if isinstance(given, Explain) else changed
    # The text names the plan in the cache, where the same statement of another folder may stand.
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {folder}")


def _place(node: exp.Expr, folder: str) -> bool:
    """Make the paths of one node absolute; false if it has none."""
    if isinstance(node, exp.Copy):
        params = [p for p in node.args.get("params") or [] if p.name.lower() == "rejects"]
        written = [p.args["expression"] for p in params if p.args.get("expression")]
        return sum(_absolute(f, folder) for f in [*(node.args.get("files") or []), *written]) > 0
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        if file_function(node) is None or not _is_relative(node.name):
            return False
        node.this.set("this", os.path.join(folder, node.name))  # noqa: PTH118 - a pattern, perhaps
        return True
    name = node.name if isinstance(node, exp.Anonymous) else node.key
    if not isinstance(node, exp.Func) or name.lower().replace("_", "") not in FILE_FUNCTIONS:
        return False
    first = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    paths = first.expressions if isinstance(first, exp.Array) else [first]
    return sum(_absolute(path, folder) for path in paths) > 0


def _absolute(path: exp.Expr, folder: str) -> bool:
    if not isinstance(path, exp.Literal) or not path.is_string or not _is_relative(path.name):
        return False
    path.set("this", os.path.join(folder, path.name))  # noqa: PTH118 - a pattern, perhaps
    return True


def _is_relative(path: str) -> bool:
    return not path.startswith(("/", "~")) and not scheme_of(path)
