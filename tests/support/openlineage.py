"""Checks events against the JSON schemas of OpenLineage, and facets against those they name."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

SCHEMAS = Path(__file__).resolve().parents[1] / "fixtures" / "openlineage"


@cache
def _registry() -> Registry[Any]:
    found = [json.loads(file.read_text(encoding="utf-8")) for file in SCHEMAS.glob("*.json")]
    return Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in found)


def require_valid(event: Any) -> None:
    """Raise for an event, or a facet anywhere in it, that its schema does not allow."""
    _require(event)
    for owner in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
        for name in ("facets", "inputFacets", "outputFacets"):
            for facet in owner.get(name, {}).values():
                _require(facet)


def _require(value: Any) -> None:
    """Check a value by the schema that it names: that of events in schemaURL, else _schemaURL."""
    url = value.get("schemaURL") or value["_schemaURL"]
    validator = Draft202012Validator(
        {"$ref": url}, registry=_registry(), format_checker=FormatChecker()
    )
    validator.validate(value)
