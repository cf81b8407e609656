"""Lineage as a drawing: tables as boxes of columns, sources as arrows between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.lineage.sources import DIRECT
from rewriter.lineage.targets import ColumnTarget


def dot_lines(targets: Sequence[ColumnTarget]) -> Iterator[str]:
    """The lines of a Graphviz file: DIRECT sources as whole arrows, INDIRECT ones dashed."""
    columns: dict[str, dict[str, None]] = {}
    for target in targets:
        columns.setdefault(target.table, {})[target.column] = None
        for source in target.sources:
            columns.setdefault(source.table, {})[source.column] = None
    yield "digraph lineage {"
    yield '  rankdir=LR; node [shape=plain, fontname="sans-serif"];'
    for table, names in columns.items():
        rows = "".join(
            f'<tr><td port="{_html_text(name)}" align="left">{_html_text(name)}</td></tr>'
            for name in names
        )
        head = f'<tr><td bgcolor="lightgray"><b>{_html_text(table)}</b></td></tr>'
        box = f'<table border="0" cellborder="1" cellspacing="0">{head}{rows}</table>'
        yield f"  {_dot_name(table)} [label=<{box}>];"
    edges = dict.fromkeys(
        (source.table, source.column, target.table, target.column, source.kind)
        for target in targets
        for source in target.sources
    )
    for table, column, to_table, to_column, kind in edges:
        tail = f"{_dot_name(table)}:{_dot_name(column)}"
        head = f"{_dot_name(to_table)}:{_dot_name(to_column)}"
        yield f"  {tail} -> {head}{'' if kind == DIRECT else ' [style=dashed, color=gray]'};"
    yield "}"


def _dot_name(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _html_text(name: str) -> str:
    for sign, word in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        name = name.replace(sign, word)
    return name
