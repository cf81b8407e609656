"""Checks request bodies: no unknown fields, points in time in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from gateway.governance.utc_moments import in_utc


class RequestBody(BaseModel):
    """A body; one with a field that it does not have is refused, for it would have no effect."""

    model_config = ConfigDict(extra="forbid")


UtcMoment = Annotated[datetime, AfterValidator(in_utc)]
"""A moment of a request; without an offset it is UTC."""
