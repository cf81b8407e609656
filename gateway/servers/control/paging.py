"""Pages of lists: which rows a page has, and the link to the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query, Request
from pydantic import BaseModel

T = TypeVar("T")
MOST = 1_000
Offset = Annotated[int, Query(ge=0, description="How many to leave out at the beginning.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many to give at most.")]


class Page(BaseModel, Generic[T]):
    """A part of a list; ``next`` is the address of the part behind it, if there is one."""

    items: list[T]
    total: int
    next: str | None


def page_of(request: Request, items: Sequence[Any], offset: int, limit: int) -> dict[str, Any]:
    """The page of a list that a request wants."""
    end = offset + limit
    url = None
    if end < len(items):
        found = request.url.include_query_params(offset=end, limit=limit)
        url = f"{found.path}?{found.query}"
    return {"items": list(items[offset:end]), "total": len(items), "next": url}
