"""Declarations in the body of a request, as JSON or as the YAML of files."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Depends, Request

from gateway.governance.declarations import Declaration, read_declarations
from gateway.governance.entity import Entity
from gateway.governance.entity_schema import read_entity
from gateway.servers.control.door import refused

_NAME = "request"
DESCRIBED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A declaration or a list of them, as JSON; or YAML as in files.",
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {"type": "object"},
                        {"type": "array", "items": {"type": "object"}},
                    ]
                },
                "example": {"kind": "profile", "name": "here", "url": "palimpsest:///srv/w"},
            },
            "application/yaml": {"schema": {"type": "string"}},
        },
    }
}
"""What the description says of such a body."""


async def _declared(request: Request) -> list[Entity]:
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise refused("the body is no text in UTF-8", "send UTF-8") from error
    if request.headers.get("content-type", "").startswith("application/yaml"):
        return [read_entity(one) for one in read_declarations(text, _NAME)]
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(f"the body is no JSON: {error}", "send a declaration as an object") from error
    found = given if isinstance(given, list) else [given]
    if not found or not all(isinstance(one, dict) for one in found):
        raise refused("the body is no declaration", "send an object, or a list of objects")
    return [read_entity(Declaration(one, _NAME)) for one in found]


DeclaredEntities = Annotated[list[Entity], Depends(_declared)]
