"""Layers hold by contract; what no contract says is counted, and only falls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grimp
import pytest

from tests.architecture.sources import PACKAGES, sources

MODULES_IN_CYCLES_MAX = 25
"""Modules of one package that import each other, types and imports inside functions included."""
IMPORTS_IN_FUNCTIONS_MAX = 142
"""Most keep a driver, or a command, from being loaded before it is used."""
MODULES_AT_A_ROOT_MAX = 12
_CLASS_TESTS = {"isinstance", "issubclass", "type"}
_STORE_CLASSES = {"Journal", "DatabaseJournal", "HiveJournal"}


def test_no_package_is_in_a_cycle_with_another() -> None:
    """The rooms of ``journal`` and ``spark_compaction`` stand in layers; so must all cycles."""
    for cycle in _cycles():
        rooms = {module.rpartition(".")[0] for module in cycle}
        assert len(rooms) == 1 or all(m.startswith("gateway.") for m in cycle), cycle


def test_import_cycles_do_not_grow() -> None:
    assert sum(len(cycle) for cycle in _cycles()) <= MODULES_IN_CYCLES_MAX


def test_imports_inside_functions_do_not_grow() -> None:
    found = [
        node
        for source in sources(*PACKAGES)
        for function in source.functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert len(found) <= IMPORTS_IN_FUNCTIONS_MAX


@pytest.mark.parametrize("package", PACKAGES)
def test_the_root_of_a_package_is_a_list_of_rooms(package: str, root: Path) -> None:
    modules = list((root / package).glob("*.py"))
    assert len(modules) <= MODULES_AT_A_ROOT_MAX, "a room is missing"


def test_the_gateway_asks_what_a_store_can_do_and_not_which_it_is() -> None:
    """A store says what it can do by ``Capabilities``; its classes are for openers and types."""
    for source in sources("gateway"):
        imported = {
            alias.asname or alias.name
            for node in ast.walk(source.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("journal.stores")
            for alias in node.names
        }
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in _CLASS_TESTS:
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
                assert not names & (imported | _STORE_CLASSES), f"{source.name}:{node.lineno}"


def _cycles() -> list[list[str]]:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {m: sorted(graph.find_modules_directly_imported_by(m)) for m in graph.modules}
    return [group for group in _components(imports) if len(group) > 1]


def _components(edges: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Groups of nodes that reach each other (Kosaraju: in reverse order of leaving)."""
    left: list[str] = []
    seen: set[str] = set()
    for start in sorted(edges):
        left += _reached(start, edges, seen)
    back: dict[str, list[str]] = {node: [] for node in edges}
    for node, targets in edges.items():
        for target in targets:
            back[target].append(node)
    seen = set()
    for start in reversed(left):
        group = _reached(start, back, seen)
        if group:
            yield sorted(group)


def _reached(start: str, edges: Mapping[str, Sequence[str]], seen: set[str]) -> list[str]:
    """Nodes that are reached and were not seen, in the order in which they are left."""
    if start in seen:
        return []
    seen.add(start)
    left: list[str] = []
    stack = [(start, iter(edges[start]))]
    while stack:
        node, targets = stack[-1]
        following = next((t for t in targets if t not in seen), None)
        if following is None:
            left.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges[following])))
    return left
