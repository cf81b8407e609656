"""A lineage graph as a drawing in SVG, which a browser opens by itself; it holds no script.

Tables are boxes of columns, left to right. Each edge says on hovering what it is, and leads to its
statement below the drawing. What decides about the rows of a table leads to the table's head.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement

from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.formats.layers import BoxLayout, BoxPlace, BoxSize, layout_of
from rewriter.lineage.formats.xml_document import xml_document
from rewriter.lineage.graph import LineageEdge, LineageGraph
from rewriter.lineage.sources import AGGREGATION, IDENTITY, TRANSFORMATION, WHOLE

_CHARACTER, _LINE = 7.25, 18.0
_ROW, _HEAD, _PAD, _MARGIN = 20.0, 26.0, 10.0, 24.0
_NAME_MAX, _SQL_LINES_MAX, _SQL_WIDTH_MAX = 48, 24, 130
_WIDTH_MIN = 980.0
_DECIDES = "INDIRECT"
_LEGEND = {
    IDENTITY: "the value as it is",
    TRANSFORMATION: "computed from",
    AGGREGATION: "aggregated",
    _DECIDES: "decides (at a head: which rows)",
}
_STYLE = """
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328 }
.paper { fill: #ffffff } .box { fill: #ffffff; stroke: #8c959f } .head { fill: #dde7f3 }
.table { font-weight: bold } .unknown { fill: #ffe1dc } .note { fill: #59636e }
.edge path { fill: none; stroke-width: 1.5 } .edge .wide { stroke: transparent; stroke-width: 9 }
.edge:hover path:not(.wide) { stroke-width: 3.5 }
.IDENTITY { stroke: #1f6feb } .TRANSFORMATION { stroke: #d1620a } .AGGREGATION { stroke: #8250df }
.INDIRECT { stroke: #8c959f; stroke-dasharray: 5 4 } .masked { stroke-dasharray: 1 4 }
.IDENTITY-tip { fill: #1f6feb } .TRANSFORMATION-tip { fill: #d1620a }
.AGGREGATION-tip { fill: #8250df } .INDIRECT-tip { fill: #8c959f }
.statement rect { fill: #f6f8fa; stroke: #d1d9e0 }
.statement:target rect { fill: #fff8c5; stroke: #d4a72c; stroke-width: 2 }
.number { fill: #1f6feb } .number:hover { text-decoration: underline }
"""


def svg_text(graph: LineageGraph, title: str = "Lineage") -> str:
    """The text of an SVG file."""
    between = dict.fromkeys((edge.table, edge.to_table) for edge in graph.edges)
    # What the first statements read stands on the left, also where a later one closes a cycle.
    tables = dict.fromkeys([*(table for pair in between for table in pair), *graph.columns])
    layout = layout_of({table: _size(table, graph.columns[table]) for table in tables}, between)
    drawing = _Drawing(graph, layout)
    top = _MARGIN + 52
    below = top + layout.height + 36
    panels = [_statement_lines(s.text) for s in graph.statements]
    height = below + sum(_panel_height(lines) + 10 for lines in panels) + _MARGIN
    widest = max((len(line) for lines in panels for line in lines), default=0)
    inner = max(layout.width + 60, widest * _CHARACTER + 2 * _PAD, _WIDTH_MIN)
    width = inner + 2 * _MARGIN
    root = Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
    )
    SubElement(root, "title").text = title
    SubElement(root, "style").text = _STYLE
    _markers(SubElement(root, "defs"))
    SubElement(root, "rect", {"class": "paper", "width": "100%", "height": "100%"})
    _text(root, _MARGIN, _MARGIN + 6, title, "table")
    _legend(root, graph, _MARGIN, _MARGIN + 28)
    body = SubElement(root, "g", transform=f"translate({_MARGIN:.0f} {top:.0f})")
    drawing.add_edges(body)
    drawing.add_boxes(body)
    y = below
    for place, (statement, lines) in enumerate(zip(graph.statements, panels, strict=True)):
        _panel(
            root, place, statement.name, lines, BoxPlace(_MARGIN, y, inner, _panel_height(lines))
        )
        y += _panel_height(lines) + 10
    return xml_document(root)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws the boxes and edges of a graph in their places."""

    graph: LineageGraph
    layout: BoxLayout

    def add_boxes(self, parent: Element) -> None:
        """A box for each table: its name, the statements that write it, its columns."""
        writing: dict[str, dict[int, None]] = {}
        for edge, behind in self.graph.edges.items():
            writing.setdefault(edge.to_table, {}).update(behind)
        for table, columns in self.graph.columns.items():
            place = self.layout.boxes[table]
            box = SubElement(parent, "g")
            SubElement(box, "title").text = table
            _rect(box, place, "box")
            _rect(box, place._replace(height=_HEAD), "head")
            self._add_numbers(box, place, sorted(writing.get(table, ())))
            self._add_name(box, table, WHOLE, place._replace(height=_HEAD))
            for row, column in enumerate(columns):
                inside = BoxPlace(
                    place.x + 1, place.y + _HEAD + row * _ROW, place.width - 2, _ROW - 1
                )
                self._add_name(box, table, column, inside)

    def _add_name(self, box: Element, table: str, column: str, place: BoxPlace) -> None:
        """The name of a column, or of a table; whether what it comes from is unknown, and why."""
        why = self.graph.unknown.get((table, column))
        name, style = (table, "table") if column == WHOLE else (column, "")
        row = SubElement(box, "g")
        if why is not None:
            SubElement(row, "title").text = f"unknown: {why}"
            _rect(row, place, "unknown")
        left, baseline = self.layout.boxes[table].x + _PAD, place.y + place.height / 2 + 4
        _text(row, left, baseline, _cut(name) + (" ?" if why else ""), style)

    def _add_numbers(self, box: Element, place: BoxPlace, numbers: Sequence[int]) -> None:
        """The numbers of the statements that write a table, above its box, as links."""
        x = place.x
        for number in numbers[:6]:
            link = SubElement(box, "a", href=f"#s{number + 1}")
            _text(link, x, place.y - 5, f"#{number + 1}", "number")
            x += (len(str(number + 1)) + 2) * _CHARACTER

    def add_edges(self, parent: Element) -> None:
        """A line for each edge, those that decide below the others."""
        drawn: dict[tuple[str, str, str], list[LineageEdge]] = {}
        for edge in self.graph.edges:
            drawn.setdefault((edge.source, edge.target, _kind(edge)), []).append(edge)
        for group in sorted(drawn.values(), key=lambda group: group[0].is_direct):
            behind = sorted({place for edge in group for place in self.graph.edges[edge]})
            attributes = {"class": "edge"}
            if behind:
                attributes["href"] = f"#s{behind[0] + 1}"
            link = SubElement(parent, "a", attributes)
            SubElement(link, "title").text = self._tip(group, behind)
            path, kind = self._path(group[0]), _kind(group[0])
            masked = " masked" if all(edge.masking for edge in group) else ""
            SubElement(link, "path", {"class": "wide", "d": path})
            arrow = {"class": kind + masked, "d": path, "marker-end": f"url(#{kind})"}
            SubElement(link, "path", arrow)

    def _tip(self, group: Iterable[LineageEdge], behind: Iterable[int]) -> str:
        edges = list(group)
        words = ", ".join(dict.fromkeys(edge.description for edge in edges))
        names = [f"#{n + 1} {self.graph.statements[n].name}" for n in behind]
        return "\n".join([f"{edges[0].source} -> {edges[0].target}: {words}", *names])

    def _path(self, edge: LineageEdge) -> str:
        """From the side of a column to the side of the other that faces it, through the lanes."""
        start = self.layout.boxes[edge.table]
        end = self.layout.boxes[edge.to_table]
        y, to_y = self._row(edge.table, edge.column), self._row(edge.to_table, edge.to_column)
        right, to_right = start.x + start.width, end.x + end.width
        if edge.table == edge.to_table:
            out = right + 24 + min(abs(to_y - y) / 6, 20)
            bend = f"C{out:.1f} {y:.1f} {out:.1f} {to_y:.1f} {right + 2:.1f} {to_y:.1f}"
            return f"M{right:.1f} {y:.1f} {bend}"
        is_turned = (edge.table, edge.to_table) in self.layout.turned
        x, to_x = (start.x, to_right + 2) if is_turned else (right, end.x - 2)
        if is_turned:
            # Beside the edge, if there is one, that leads the other way.
            y, to_y = y + 5, to_y + 5
        share, parts = (y - start.y) / start.height, [f"M{x:.1f} {y:.1f}"]
        for lane in self.layout.lanes[edge.table, edge.to_table]:
            near, far = (lane.x, lane.x + lane.width)
            near, far = (far, near) if is_turned else (near, far)
            level = lane.y + lane.height * share
            parts += [_curve(x, y, near, level), f"L{far:.1f} {level:.1f}"]
            x, y = far, level
        return " ".join([*parts, _curve(x, y, to_x, to_y)])

    def _row(self, table: str, column: str) -> float:
        """The height at which the edges of a column end."""
        top = self.layout.boxes[table].y
        if column == WHOLE:
            return top + _HEAD / 2
        return top + _HEAD + (list(self.graph.columns[table]).index(column) + 0.5) * _ROW


def _kind(edge: LineageEdge) -> str:
    return edge.subtype if edge.is_direct else _DECIDES


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (to_x - x) / 2
    return f"C{x + half:.1f} {y:.1f} {to_x - half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _size(table: str, columns: Iterable[str]) -> BoxSize:
    names = [_cut(name) + " ?" for name in (table, *columns)]
    width = max(len(name) for name in names) * _CHARACTER + 2 * _PAD
    return BoxSize(max(width, 90.0), _HEAD + _ROW * (len(names) - 1) + 2)


def _cut(name: str, most: int = _NAME_MAX) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _statement_lines(text: str) -> list[str]:
    lines = [
        part
        for line in text.expandtabs(4).splitlines()
        for part in wrap(line, _SQL_WIDTH_MAX, subsequent_indent="    ", replace_whitespace=False)
    ]
    if len(lines) <= _SQL_LINES_MAX:
        return lines
    return [*lines[:_SQL_LINES_MAX], f"… {len(lines) - _SQL_LINES_MAX} more lines"]


def _panel_height(lines: Sequence[str]) -> float:
    return _LINE * (len(lines) + 1) + 12


def _panel(root: Element, place: int, name: str, lines: Sequence[str], where: BoxPlace) -> None:
    panel = SubElement(root, "g", {"id": f"s{place + 1}", "class": "statement"})
    _rect(panel, where, "")
    _text(panel, where.x + _PAD, where.y + _LINE, f"#{place + 1} {name}", "table")
    for row, line in enumerate(lines, 2):
        _text(panel, where.x + _PAD, where.y + row * _LINE, line, "")


def _legend(root: Element, graph: LineageGraph, x: float, y: float) -> None:
    """The kinds of edges that the drawing has."""
    kinds = {_kind(edge) for edge in graph.edges}
    entries = [(kind, words, "") for kind, words in _LEGEND.items() if kind in kinds]
    if any(edge.masking for edge in graph.edges):
        entries.append((TRANSFORMATION, "masked", " masked"))
    for kind, words, more in entries:
        path = {"class": kind + more, "d": f"M{x:.0f} {y:.0f} h30", "marker-end": f"url(#{kind})"}
        SubElement(SubElement(root, "g", {"class": "edge"}), "path", path)
        _text(root, x + 42, y + 4, words, "note")
        x += 42 + len(words) * _CHARACTER + 24
    if graph.unknown:
        _rect(root, BoxPlace(x, y - 7, 30, 14), "unknown")
        _text(root, x + 42, y + 4, "unknown", "note")


def _markers(defs: Element) -> None:
    for kind in _LEGEND:
        marker = {"id": kind, "viewBox": "0 0 8 8", "refX": "7", "refY": "4", "orient": "auto"}
        marker |= {"markerWidth": "8", "markerHeight": "8", "markerUnits": "userSpaceOnUse"}
        tip = {"class": f"{kind}-tip", "d": "M0 0 L8 4 L0 8 z"}
        SubElement(SubElement(defs, "marker", marker), "path", tip)


def _rect(parent: Element, place: BoxPlace, style: str) -> None:
    x, y, width, height = (f"{value:.1f}" for value in place)
    given = {"x": x, "y": y, "width": width, "height": height, "rx": "3"}
    SubElement(parent, "rect", {**given, "class": style} if style else given)


def _text(parent: Element, x: float, y: float, text: str, style: str) -> None:
    given = {"x": f"{x:.1f}", "y": f"{y:.1f}", "xml:space": "preserve"}
    SubElement(parent, "text", {**given, "class": style} if style else given).text = text
