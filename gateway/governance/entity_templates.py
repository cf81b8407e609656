"""Templates: declarations with parameters, of which people make their own entities. It reads files.

    template + values --read_template, instantiate--> declarations --> entities, as from a file

A parameter stands as ``${name}`` within a value. It is put into what YAML has read already, so that
a value can be nothing but a text, or a list where the parameter is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gateway.governance.declarations import Declaration, read_declarations
from gateway.governance.entity import Entity
from gateway.governance.entity_schema import read_entity
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

FOLDER = Path(__file__).with_name("templates")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_PLACE = re.compile(r"\$\{([^{}]*)\}")
_HEAD = frozenset({"template", "description", "parameters"})
_PARAMETER = frozenset({"description", "default", "type"})


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """What a template asks for; one without ``default`` has to be given."""

    name: str
    description: str
    default: str | None = None
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class EntityTemplate:
    """A template: its parameters, and the declarations with their places."""

    name: str
    description: str
    parameters: tuple[TemplateParameter, ...]
    declarations: tuple[Declaration, ...]
    text: str


def list_templates() -> list[EntityTemplate]:
    """The templates that come with Palimpsest, by name."""
    return [_read(path) for path in sorted(FOLDER.glob("*.yaml"))]


def find_template(name: str) -> EntityTemplate:
    """A template of ours by its name, or one in a file by its path.

    Raises ENTITY for a name that none has, and for a file that is no template.
    """
    ours = {path.stem: path for path in FOLDER.glob("*.yaml")}
    path = ours.get(name) or Path(name)
    if not path.is_file():
        raise _error(
            f"there is no template {name}",
            f"use {', '.join(sorted(ours))}, or the path of a file",
        )
    return _read(path)


def instantiate(template: EntityTemplate, values: Mapping[str, str]) -> list[Entity]:
    """The entities that a template makes of values; raises ENTITY for what is wrong with them."""
    known = {one.name: one for one in template.parameters}
    for name in values:
        if name not in known:
            raise _error(
                f"template {template.name} has no parameter {name}", f"use {', '.join(known)}"
            )
    given = {one.name: values.get(one.name, one.default) for one in template.parameters}
    lacking = [name for name, value in given.items() if value is None or not value.strip()]
    if lacking:
        raise _error(
            f"template {template.name} lacks {', '.join(lacking)}",
            f"give -p {lacking[0]}=..: {known[lacking[0]].description}",
        )
    filled = {
        name: _items(value) if known[name].is_list else value.strip()
        for name, value in given.items()
        if value is not None
    }
    return [
        read_entity(Declaration(_filled(one.fields, filled), one.source, one.lines))
        for one in template.declarations
    ]


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _filled(value: Any, given: Mapping[str, str | list[str]]) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(one, given) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, given) for one in value]
    if not isinstance(value, str):
        return value
    whole = _PLACE.fullmatch(value)
    if whole is not None:
        return given[whole[1]]
    return _PLACE.sub(lambda found: _as_text(given[found[1]]), value)


def _as_text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _read(path: Path) -> EntityTemplate:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _error(f"template {path} cannot be read: {error}", "name a file in UTF-8") from error
    documents = read_declarations(text, str(path))
    head, *declared = documents or [Declaration({}, str(path))]
    fields = head.fields
    wrong = next((name for name in fields if name not in _HEAD), None)
    if wrong is not None or not _NAME.fullmatch(str(fields.get("template"))) or not declared:
        raise _error(
            f"{head.place((wrong,) if wrong else ())}: is no template",
            "begin with template: name, description and parameters; then one document an entity",
        )
    parameters = tuple(_parameter(head, name) for name in _mapping(head, ("parameters",)))
    names = {one.name for one in parameters}
    for one in declared:
        unknown = _places(one.fields) - names
        if unknown:
            raise _error(
                f"{one.place(())}: there is no parameter {', '.join(sorted(unknown))}",
                "declare it under parameters",
            )
    described = str(fields.get("description") or "")
    return EntityTemplate(fields["template"], described, parameters, tuple(declared), text)


def _mapping(head: Declaration, path: Sequence[str]) -> Mapping[str, Any]:
    found: Any = head.fields
    for name in path:
        found = found.get(name) or {}
    if not isinstance(found, Mapping):
        raise _error(f"{head.place(tuple(path))}: has no fields", "write name: {description: ..}")
    return found


def _parameter(head: Declaration, name: str) -> TemplateParameter:
    found = _mapping(head, ("parameters", name))
    kind = found.get("type", "text")
    if found.keys() - _PARAMETER or kind not in {"text", "list"} or not _NAME.fullmatch(name):
        raise _error(
            f"{head.place(('parameters', name))}: is no parameter",
            "give description, default and type: text or list",
        )
    return TemplateParameter(
        name, str(found.get("description") or ""), found.get("default"), kind == "list"
    )


def _places(value: Any) -> set[str]:
    if isinstance(value, Mapping):
        return set().union(*map(_places, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(_places, value)) if value else set()
    return set(_PLACE.findall(value)) if isinstance(value, str) else set()


def _error(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.ENTITY, message, advice=advice)
