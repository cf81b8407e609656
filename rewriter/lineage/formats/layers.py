"""Places for boxes that arrows connect: in layers from left to right, so that no two overlap.

The steps are those of Sugiyama, Tagawa and Toda (1981): turn the edges round that close a cycle,
give each box the layer after the last box before it, order each layer by the middle of its
neighbours, and set the heights as near to the neighbours as the order allows. An edge over several
layers gets a lane in each layer between. Pure; the same boxes always get the same places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from journal.model.lazy_dataclass import dataclass

_SWEEPS = 8
_LANE_HEIGHT = 14.0


class BoxPlace(NamedTuple):
    """The left upper corner of a box, and its size, in pixels."""

    x: float
    y: float
    width: float
    height: float


class BoxSize(NamedTuple):
    """Width and height in pixels."""

    width: float
    height: float


Node = tuple[str, int]
"""A box, or the lane of a box's edges in a layer after it."""


@dataclass(slots=True)
class BoxLayout:
    """Where boxes are, and the lanes of long edges from left to right; the size of it all.

    ``turned`` has the edges that lead from the right to the left, as they close a cycle.
    """

    boxes: dict[str, BoxPlace] = field(default_factory=dict)
    lanes: dict[tuple[str, str], list[BoxPlace]] = field(default_factory=dict)
    turned: set[tuple[str, str]] = field(default_factory=set)
    width: float = 0.0
    height: float = 0.0


def layout_of(
    sizes: Mapping[str, BoxSize],
    edges: Collection[tuple[str, str]],
    gaps: BoxSize = BoxSize(110.0, 28.0),  # noqa: B008 - a value
) -> BoxLayout:
    """Places for boxes of some sizes; ``gaps`` are those between layers, and within one."""
    between = list(dict.fromkeys((a, b) for a, b in edges if a != b))
    turned = _edges_back(list(sizes), between)
    forward = list(dict.fromkeys((b, a) if (a, b) in turned else (a, b) for a, b in between))
    layer = _layers(list(sizes), forward)
    before: dict[Node, list[Node]] = {(name, layer[name]): [] for name in sizes}
    for a, b in forward:
        path: list[Node] = [(a, at) for at in range(layer[a], layer[b])]
        for one, two in zip(path, [*path[1:], (b, layer[b])], strict=True):
            known = before.setdefault(two, [])
            if one not in known:
                known.append(one)
    columns: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in before:
        columns[node[1]].append(node)
    after: dict[Node, list[Node]] = {node: [] for node in before}
    for node, sources in before.items():
        for source in sources:
            after[source].append(node)
    _order(columns, before, after)
    heights = {n: sizes[n[0]].height if n[1] == layer[n[0]] else _LANE_HEIGHT for n in before}
    middle = _middles(columns, before, after, heights, gaps.height)
    top = min((middle[n] - heights[n] / 2 for n in before), default=0.0)
    found, x = BoxLayout(turned=turned), 0.0
    places: dict[Node, BoxPlace] = {}
    for column in columns:
        width = max((sizes[name].width for name, at in column if layer[name] == at), default=0.0)
        for node in column:
            own = sizes[node[0]].width if layer[node[0]] == node[1] else width
            y = middle[node] - heights[node] / 2 - top
            places[node] = BoxPlace(x, y, own, heights[node])
            found.height = max(found.height, y + heights[node])
        found.width, x = x + width, x + width + gaps.width
    found.boxes = {box: places[box, layer[box]] for box in sizes}
    for a, b in between:
        left, right = (b, a) if (a, b) in turned else (a, b)
        lanes = [places[left, at] for at in range(layer[left] + 1, layer[right])]
        found.lanes[a, b] = lanes[::-1] if (a, b) in turned else lanes
    return found


def _edges_back(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that lead back to a box on the way to their own, depth first."""
    targets: dict[str, list[str]] = {name: [] for name in names}
    for a, b in edges:
        targets[a].append(b)
    found: set[tuple[str, str]] = set()
    left: set[str] = set()
    for start in names:
        way = {start: iter(targets[start])} if start not in left else {}
        while way:
            name = next(reversed(way))
            following = next(way[name], None)
            if following is None:
                del way[name]
                left.add(name)
            elif following in way:
                found.add((name, following))
            elif following not in left:
                way[following] = iter(targets[following])
    return found


def _layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The length of the longest way to each box; boxes without one stand next to what follows."""
    targets: dict[str, list[str]] = {name: [] for name in names}
    waiting = dict.fromkeys(names, 0)
    for a, b in edges:
        targets[a].append(b)
        waiting[b] += 1
    starts = [name for name in names if not waiting[name]]
    layer, ready = dict.fromkeys(names, 0), list(starts)
    for name in ready:
        for target in targets[name]:
            layer[target] = max(layer[target], layer[name] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for name in starts:
        if targets[name]:
            layer[name] = min(layer[target] for target in targets[name]) - 1
    return layer


def _order(
    columns: list[list[Node]],
    before: Mapping[Node, Sequence[Node]],
    after: Mapping[Node, Sequence[Node]],
) -> None:
    """Order each layer by the middle of its neighbours' places, from both sides in turn."""
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for column in reversed(columns) if sweep % 2 else columns:
            place = {node: at for other in columns for at, node in enumerate(other)}
            keys = {
                node: _mean([place[n] for n in neighbours[node]], place[node]) for node in column
            }
            column.sort(key=keys.__getitem__)


def _middles(
    columns: Sequence[Sequence[Node]],
    before: Mapping[Node, Sequence[Node]],
    after: Mapping[Node, Sequence[Node]],
    heights: Mapping[Node, float],
    gap: float,
) -> dict[Node, float]:
    """The height of each node's middle."""
    found: dict[Node, float] = {}
    for column in columns:
        for place, node in enumerate(column):
            previous = column[place - 1] if place else None
            space = 0.0 if previous is None else (heights[previous] + heights[node]) / 2 + gap
            found[node] = space + (found[previous] if previous is not None else 0.0)
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for column in reversed(columns) if sweep % 2 else columns:
            wanted = [_mean([found[n] for n in neighbours[node]], found[node]) for node in column]
            offsets, offset = [], 0.0
            for place, node in enumerate(column):
                if place:
                    offset += (heights[column[place - 1]] + heights[node]) / 2 + gap
                offsets.append(offset)
            free = _nearest_in_order([w - o for w, o in zip(wanted, offsets, strict=True)])
            found |= zip(column, (f + o for f, o in zip(free, offsets, strict=True)), strict=True)
    return found


def _nearest_in_order(values: Sequence[float]) -> list[float]:
    """The rising values nearest to some values by least squares: violators are pooled."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            last, many = pools.pop()
            total, count = total + last, count + many
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
