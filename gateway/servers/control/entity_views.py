"""What an answer says of entities that a request has changed."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from gateway.governance.entity import EntityKind
from gateway.governance.entity_operations import EntityResult
from gateway.servers.control.problems import KIND, problem, status_of


class ResultView(BaseModel):
    """What became of one entity of a request; ``error`` says why it failed."""

    kind: EntityKind
    name: str
    outcome: str
    version: int | None
    error: dict[str, Any] | None


class ResultsView(BaseModel):
    """What became of a request: SUCCEEDED, PARTIAL or FAILED; a repeat changes what failed."""

    state: str
    results: list[ResultView]


def result_view(result: EntityResult) -> ResultView:
    """A result as an answer has it."""
    error = result.error
    return ResultView(
        kind=result.kind,
        name=result.name,
        outcome=result.outcome,
        version=result.version,
        error=None if error is None else problem(error, status_of(error)),
    )


def results_answer(results: list[EntityResult]) -> Response:
    """200 where all succeeded, 207 where some did, else the status of the first error."""
    failed = [result.error for result in results if result.error is not None]
    shown = [result_view(result).model_dump(mode="json") for result in results]
    if not failed:
        return JSONResponse({"state": "SUCCEEDED", "results": shown})
    if len(failed) < len(results):
        return JSONResponse({"state": "PARTIAL", "results": shown}, 207)
    status = status_of(failed[0])
    body = {**problem(failed[0], status), "state": "FAILED", "results": shown}
    return JSONResponse(body, status, media_type=KIND)
