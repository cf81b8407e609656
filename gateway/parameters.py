"""A client's parameters, checked against those of a statement and named as its plan names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from journal.errors import Code, PalimpsestError
from journal.plan import USER_PARAMETER
from rewriter.parsing import Parsed

Given = Sequence[Any] | Mapping[str, Any] | None


def bind(parsed: Parsed, given: Given) -> dict[str, Any]:
    """Values by plan parameter; raises PARAMETERS when they do not fit."""
    wanted = parsed.parameters
    if not wanted:
        if given:
            raise _wrong(f"the statement takes no parameters, {len(given)} were given")
        return {}
    if isinstance(given, Mapping):
        missing = [str(name) for name in wanted if str(name) not in given]
        if missing:
            raise _wrong(f"no value was given for parameter {', '.join(missing)}")
        return {f"{USER_PARAMETER}{name}": given[str(name)] for name in wanted}
    values = list(given or ())
    names = [name for name in wanted if isinstance(name, str)]
    if names:
        raise _wrong(f"the statement names its parameters ({', '.join(names)}), give a mapping")
    highest = max(int(place) for place in wanted) + 1
    if len(values) != highest:
        raise _wrong(f"the statement takes {highest} parameters, {len(values)} were given")
    return {f"{USER_PARAMETER}{place}": values[int(place)] for place in wanted}


def batch_table(parsed: Parsed, rows: Sequence[Given]) -> pa.Table | None:
    """The rows of an executemany as one Arrow table; None when their types do not mix."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in bind(parsed, row).items():
            columns.setdefault(name, []).append(value)
    if not columns:
        return None
    try:
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None


def _wrong(message: str) -> PalimpsestError:
    return PalimpsestError(Code.PARAMETERS, message, advice="give one value for each placeholder")
