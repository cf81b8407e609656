"""What requests carry: bodies without fields that nobody reads, and moments in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


class RequestBody(BaseModel):
    """A body; one with a field that it does not have is refused, for it would have no effect."""

    model_config = ConfigDict(extra="forbid")


def _in_utc(given: datetime) -> datetime:
    """The same moment in UTC, where it is without an offset; ValueError beyond the calendar."""
    if given.tzinfo is None:
        return given.replace(tzinfo=UTC)
    try:
        return given.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("in UTC it lies outside of the years 1 to 9999") from error


UtcMoment = Annotated[datetime, AfterValidator(_in_utc)]
"""A moment of a request; without an offset it is UTC."""
