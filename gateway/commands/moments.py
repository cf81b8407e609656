"""Moments on command lines, as they are written; nothing is asked of a clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click


class MomentParam(click.ParamType[datetime]):
    """A moment as 2013-01-31T06:00Z; UTC without an offset."""

    name = "moment"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The moment in UTC."""
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no moment; write 2013-01-31T06:00Z", param, ctx)
        if found.tzinfo is None:
            return found.replace(tzinfo=UTC)
        try:
            return found.astimezone(UTC)
        except OverflowError:
            self.fail(f"{value!r} lies outside of the years 1 to 9999 in UTC", param, ctx)
