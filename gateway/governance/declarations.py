"""Parses declarations in YAML, with the line of each field. Pure.

Every scalar is a text, as in SQL: what it means is for the schema to say. Files are small: what is
larger, deeper or refers to itself is refused before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from journal.model.errors import Code, PalimpsestError, Position
from journal.model.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import yaml

CHARS_MAX = 4_000_000
DEPTH_MAX = 8
NULL_TAG = "tag:yaml.org,2002:null"
Path = tuple[str | int, ...]
"""Where a field stands: ``("inputs", 0, "from")``."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One document: its fields, where it comes from, and the line of each field from 1."""

    fields: Mapping[str, Any]
    source: str = "declaration"
    lines: Mapping[Path, int] | None = None
    positions: Mapping[Path, Position] | None = None
    """Of fields in a statement."""

    def position(self, path: Path) -> Position | None:
        """Where a field of a statement stands, or the nearest of those that it lies in."""
        known = self.positions or {}
        return next((known[path[:n]] for n in range(len(path), -1, -1) if path[:n] in known), None)

    def place(self, path: Path) -> str:
        """File, line and field, as messages begin with them."""
        lines, field = self.lines or {}, ".".join(map(str, path))
        known = next((lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in lines), None)
        line = "" if known is None else f":{known}"
        return f"{self.source}{line}{f': {field}' if field else ''}"


def read_declarations(text: str, source: str) -> list[Declaration]:
    """The documents of a YAML file, at least one; raises ENTITY, with file and line, for others.

    Raises DRIVER_MISSING without the package pyyaml.
    """
    yaml = _yaml()
    if len(text) > CHARS_MAX:
        raise _entity_error(
            source, f"has more than {CHARS_MAX:,} characters", "split it into several files"
        )
    try:
        nodes = [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise _entity_error(
            f"{source}:{line}", error.problem or "is no YAML", "write fields as name: value"
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _entity_error(source, "is no YAML", "write fields as name: value") from error
    # A line of dashes at the end begins a document with nothing in it.
    found = [_declaration(node, source) for node in nodes if node.tag != NULL_TAG]
    if not found:
        raise _entity_error(source, "declares nothing", "begin with kind: dataset")
    return found


def write_declaration(fields: Mapping[str, Any]) -> str:
    """The YAML of some fields; raises DRIVER_MISSING without the package pyyaml."""
    written: str = _yaml().safe_dump(dict(fields), sort_keys=False, allow_unicode=True)
    return written


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "declarations in YAML need the package pyyaml",
            advice="pip install 'palimpsest-gateway[jobs]'",
        ) from error
    return yaml


def _declaration(node: yaml.Node, source: str) -> Declaration:
    lines: dict[Path, int] = {}
    seen: set[int] = set()
    found = _value(node, (), lines, seen, source)
    if not isinstance(found, dict):
        raise _entity_error(
            f"{source}:{lines[()]}", "is not a list of fields", "begin with kind: dataset"
        )
    return Declaration(found, source, lines)


def _value(node: yaml.Node, path: Path, lines: dict[Path, int], seen: set[int], source: str) -> Any:
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if id(node) in seen or len(path) > DEPTH_MAX:
        raise _entity_error(
            f"{source}:{line}", "refers to another place, or is nested too deeply",
            "write the fields out",
        )  # fmt: skip
    seen.add(id(node))
    if node.id == "scalar":
        return None if node.tag == NULL_TAG else str(node.value)
    if node.id == "sequence":
        return [
            _value(one, (*path, i), lines, seen, source) for i, one in enumerate(node.value)
        ]  # fmt: skip
    found: dict[str, Any] = {}
    for key, value in node.value:
        name, at = str(key.value), key.start_mark.line + 1
        if key.id != "scalar" or name in found:
            raise _entity_error(f"{source}:{at}", f"has {name} twice", "leave one of them out")
        lines[*path, name] = at
        found[name] = _value(value, (*path, name), lines, seen, source)
    return found


def _entity_error(place: str, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.ENTITY, f"{place}: {message}", advice=advice)
