"""A client's parameters, checked against those of a statement and named as its plan names them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import USER_PARAMETER
from rewriter.reading.equal_keys import DOUBLE, MOMENT, NUMBER, ParameterKinds
from rewriter.statement import Prepare
from rewriter.syntax.parsing import Parsed

Given = Sequence[Any] | Mapping[str, Any] | None
_EXACT_IN_DOUBLE = 2**53
_ADVICE = "give one value for each placeholder: a sequence for ? and %s, a mapping for names"


def bind(parsed: Parsed, given: Given) -> dict[str, Any]:
    """Values by plan parameter; raises PARAMETERS when they do not fit."""
    wanted = parsed.parameters
    if isinstance(given, Mapping):
        return _by_name(wanted, given) if wanted else {}
    values = _sequence(given)
    if not wanted:
        if values:
            raise _parameters_error(f"the statement takes no parameters, {len(values)} were given")
        return {}
    names = [name for name in wanted if isinstance(name, str)]
    if names:
        raise _parameters_error(
            f"the statement names its parameters ({', '.join(names)}), give a mapping"
        )
    highest = max(int(place) for place in wanted) + 1
    if len(values) != highest:
        raise _parameters_error(
            f"the statement takes {highest} parameters, {len(values)} were given"
        )
    return {f"{USER_PARAMETER}{place}": _unwrap_bytes(values[int(place)]) for place in wanted}


def _sequence(given: object) -> Sequence[Any]:
    if given is None:
        return ()
    if isinstance(given, list | tuple):
        return given
    if isinstance(given, str | bytes | bytearray | set | frozenset):
        raise _parameters_error(
            f"parameters are a sequence or a mapping, not {type(given).__name__}"
        )
    if isinstance(given, Iterable):
        return list(given)
    raise _parameters_error(f"parameters are a sequence or a mapping, not {type(given).__name__}")


def _by_name(wanted: Sequence[int | str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Names that the statement does not mention are ignored; ``$2`` is the name "2"."""
    shown = {name: name if isinstance(name, str) else str(name + 1) for name in wanted}
    missing = [shown[name] for name in wanted if shown[name] not in given]
    if missing:
        raise _parameters_error(f"no value was given for parameter {', '.join(missing)}")
    return {f"{USER_PARAMETER}{name}": _unwrap_bytes(given[shown[name]]) for name in wanted}


def _unwrap_bytes(value: Any) -> Any:
    """bytearray and memoryview as bytes; the store judges any other value."""
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def batch_table(parsed: Parsed, rows: Sequence[Given]) -> pa.Table | None:
    """The rows of an executemany as one Arrow table; None when their types do not mix.

    A column must be of one Python type, so that each value arrives as it would by itself. Whole
    numbers among floats are the exception, as far as a float holds them exactly.
    """
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in bind(parsed, row).items():
            columns.setdefault(name, []).append(value)
    if not columns or not all(_is_uniform(values) for values in columns.values()):
        return None
    try:
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None


def _is_uniform(values: list[Any]) -> bool:
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) <= 1:
        if kinds & {dt.datetime, dt.time}:
            return len({v.tzinfo is None for v in values if v is not None}) == 1
        return True
    return kinds == {int, float} and all(
        -_EXACT_IN_DOUBLE <= v <= _EXACT_IN_DOUBLE for v in values if type(v) is int
    )


def _parameters_error(message: str) -> PalimpsestError:
    return PalimpsestError(Code.PARAMETERS, message, advice=_ADVICE)


def refuse_placeholders(statements: Iterable[Parsed]) -> None:
    """Without parameters ``%s`` may be text; ``?`` and ``$1`` can only be an oversight."""
    asking = (parsed for parsed in statements if not isinstance(parsed.statement, Prepare))
    for tree in (t for parsed in asking for t in _trees(parsed.statement)):
        if tree.find(exp.Placeholder, exp.Parameter) is not None:
            raise PalimpsestError(
                Code.PARAMETERS,
                "the statement has placeholders, and no parameters were given",
                advice="give one value for each placeholder",
            )


def _trees(value: object) -> Iterator[exp.Expr]:
    """The expressions of a statement, which is a value of values."""
    if isinstance(value, exp.Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _trees(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _trees(getattr(value, field.name))


def batch_kinds(batch: pa.Table) -> ParameterKinds:
    """The kinds of the parameters of an ``executemany``, which are columns of its rows."""
    found = ((field.name, _kind_of_column(field.type)) for field in batch.schema)
    return frozenset((name, kind) for name, kind in found if kind)


def _kind_of_column(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return DOUBLE
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return NUMBER
    return MOMENT if pa.types.is_temporal(kind) else ""
