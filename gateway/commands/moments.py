"""Reads points in time from the command line; asks no clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from gateway.governance.utc_moments import in_utc


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
            self.fail(f"{value!r} is not a point in time; write 2013-01-31T06:00Z", param, ctx)
        try:
            return in_utc(found)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
