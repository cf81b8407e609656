"""The schema of entities: the fields of each kind, and their values. Pure.

One table for all ways of declaring; values come in as texts and leave in one canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.governance.dataset_schema import check_dataset, policy_texts, table_pattern
from gateway.governance.declarations import Declaration, Path
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.expressions import parse_expression
from gateway.governance.field_rules import Check, FieldError, FieldRule
from gateway.governance.nominal_times import from_zone
from gateway.governance.process_rules import (
    STEPS,
    Availability,
    CatchUp,
    RepeatPolicy,
    RunOrder,
    check_pattern,
    path_at,
)
from gateway.governance.utc_moments import in_utc
from gateway.opening.schemes import PREFIX
from gateway.opening.url_secrets import without_password
from journal.model.duration import Duration
from journal.model.errors import Code, PalimpsestError
from rewriter.dialect_semantics import DIALECTS

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_PERMISSION = re.compile(r"[0-7]{3}")
_MOMENT = "write 2024-01-31, 2024-01-31T06:00 or 2024-01-31T06:00Z"
TEXT_MAX = 1_000_000
ITEMS_MAX = 1_000
_FLAGS_COMPARED = 10
"""For how many instances the path of a flag is compared with the one before."""


def _text(value: Any, path: Path) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > TEXT_MAX:
        raise FieldError(path, "is not a text", "write a value behind the colon")
    return value.strip()


def _name(value: Any, path: Path) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise FieldError(
            path,
            f"{value!r} is no name",
            "use up to 63 letters, digits, - and _, and begin with a letter",
        )
    return value


def _duration(value: Any, path: Path) -> str:
    try:
        return str(Duration.parse(_text(value, path)))
    except PalimpsestError as error:
        raise FieldError(path, error.message, error.advice or "") from error


def _zone(value: Any, path: Path) -> str:
    try:
        return ZoneInfo(_text(value, path)).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise FieldError(
            path, f"{value!r} is no time zone", "name one as Europe/Berlin, or leave it out for UTC"
        ) from error


def _moment(value: Any, path: Path) -> str:
    try:
        found = datetime.fromisoformat(_text(value, path))
        in_utc(found)
    except ValueError as error:
        raise FieldError(path, f"{value!r} is not a point in time", _MOMENT) from error
    return found.isoformat()


def _url(value: Any, path: Path) -> str:
    url = _text(value, path)
    if not url.startswith(PREFIX) and "://" not in url:
        raise FieldError(path, f"{url!r} is no URL", f"write {PREFIX}///folder or a server's URL")
    if without_password(url) != url:
        raise FieldError(
            path,
            "has a password, and records must not",
            "leave it to ~/.pgpass or the environment of whoever runs the process",
        )
    return url


def _permission(value: Any, path: Path) -> str:
    if not isinstance(value, str) or not _PERMISSION.fullmatch(value):
        raise FieldError(
            path, f"{value!r} is no permission", "write three digits for owner, group, others: 750"
        )
    return value


def _expression(value: Any, path: Path) -> str:
    try:
        if parse_expression(text := _text(value, path)).name == "formatTime":
            raise FieldError(
                path,
                "is a text, not an instance",
                "use now(0, 0) or another function of the nominal time",
            )
    except PalimpsestError as error:
        raise FieldError(path, error.message, error.advice or "") from error
    return text


def _one_of(*words: str) -> Check:
    def check(value: Any, path: Path) -> str:
        if value not in words:
            raise FieldError(path, f"cannot be {value!r}", "use " + ", ".join(words))
        return str(value)

    return check


def _number(least: int, most: int) -> Check:
    def check(value: Any, path: Path) -> int:
        text = str(value)
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise FieldError(
                path, f"cannot be {value!r}", f"give a whole number from {least} to {most}"
            )
        return int(text)

    return check


def _truth(value: Any, path: Path) -> bool:
    if str(value).lower() not in {"true", "false"}:
        raise FieldError(path, f"cannot be {value!r}", "use true or false")
    return str(value).lower() == "true"


def _word_of(words: type[StrEnum]) -> Check:
    """One of some words, whose case does not matter."""

    def check(value: Any, path: Path) -> str:
        found = next((word.value for word in words if word.value == str(value).upper()), None)
        if found is None:
            raise FieldError(path, f"cannot be {value!r}", "use " + ", ".join(words))
        return found

    return check


def _value_expression(value: Any, path: Path) -> str:
    try:
        found = parse_expression(text := _text(value, path))
    except PalimpsestError as error:
        raise FieldError(path, error.message, error.advice or "") from error
    if found.depends_on_data:
        raise FieldError(
            path,
            "depends on which data is there",
            "use now(0, 0), another function of the nominal time, or formatTime",
        )
    return text


def _values(value: Any, path: Path) -> dict[str, str]:
    """Parameters of statements: names with expressions."""
    if not isinstance(value, dict) or len(value) > ITEMS_MAX:
        raise FieldError(path, "has no fields", "write name: expression")
    for name in value:
        if not _PARAMETER.fullmatch(name):
            raise FieldError((*path, name), "is no name of a parameter", "use letters, digits, _")
    return {name: _value_expression(given, (*path, name)) for name, given in value.items()}


def _texts_by_name(value: Any, path: Path) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > ITEMS_MAX:
        raise FieldError(path, "has no fields", "write name: value")
    return {name: _text(given, (*path, name)) for name, given in value.items()}


def _path_pattern(value: Any, path: Path) -> str:
    try:
        check_pattern(text := _text(value, path))
    except PalimpsestError as error:
        raise FieldError(path, error.message, error.advice or "") from error
    return text


def _list_of(check_item: Check) -> Check:
    def check(value: Any, path: Path) -> list[Any]:
        if not isinstance(value, list) or len(value) > ITEMS_MAX:
            raise FieldError(
                path, f"is not a list of up to {ITEMS_MAX:,}", "begin each item with a dash"
            )
        return [check_item(item, (*path, i)) for i, item in enumerate(value)]

    return check


def _record_of(rules: Mapping[str, FieldRule]) -> Check:
    def check(value: Any, path: Path) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise FieldError(path, "has no fields", "write " + ", ".join(rules))
        for name in value:
            if name not in rules:
                raise FieldError((*path, name), "is not a field here", "use " + ", ".join(rules))
        for name, rule in rules.items():
            if rule.is_required and value.get(name) is None:
                raise FieldError(path, f"lacks the field {name}", f"write {name}: ..")
        return {
            name: rules[name].check(given, (*path, name))
            for name, given in value.items()
            if given is not None
        }

    return check


_INPUT = _record_of(
    {
        "dataset": FieldRule(_name, is_required=True),
        "from": FieldRule(_expression, is_required=True),
        "to": FieldRule(_expression, is_required=True),
    }
)
_OUTPUT = _record_of(
    {
        "dataset": FieldRule(_name, is_required=True),
        "instance": FieldRule(_expression, is_required=True),
    }
)
_RETRY = _record_of(
    {
        "policy": FieldRule(_word_of(RepeatPolicy)),
        "delay": FieldRule(_duration),
        "attempts": FieldRule(_number(0, 1_000)),
        "on_timeout": FieldRule(_truth),
    }
)
_LATE_INPUT = _record_of(
    {"dataset": FieldRule(_name, is_required=True), "sql": FieldRule(_text)},
)
_LATE_DATA = _record_of(
    {
        "policy": FieldRule(_word_of(RepeatPolicy)),
        "delay": FieldRule(_duration),
        "inputs": FieldRule(_list_of(_LATE_INPUT)),
    }
)
_JOB = _record_of(
    {
        "kind": FieldRule(_name, is_required=True),
        "tables": FieldRule(_list_of(_text), is_required=True),
        "options": FieldRule(_texts_by_name),
    }
)
_SPARK = _record_of(
    {
        "app": FieldRule(_text, is_required=True),
        "args": FieldRule(_list_of(_text)),
        "master": FieldRule(_text),
        "conf": FieldRule(_texts_by_name),
    }
)
_SLA = _record_of(
    {
        "should_start": FieldRule(_duration),
        "should_end": FieldRule(_duration),
        "low": FieldRule(_duration),
        "high": FieldRule(_duration),
    }
)
_ALL_KINDS = {
    "kind": FieldRule(_one_of(*EntityKind), is_required=True),
    "name": FieldRule(_name, is_required=True),
    "description": FieldRule(_text),
    "owner": FieldRule(_text),
    "group": FieldRule(_text),
    "permission": FieldRule(_permission),
    "tags": FieldRule(_list_of(_text)),
}
_REPEATED = {
    "profile": FieldRule(_name),
    "every": FieldRule(_duration, is_required=True),
    "start": FieldRule(_moment, is_required=True),
    "end": FieldRule(_moment),
    "timezone": FieldRule(_zone),
    "sla": FieldRule(_SLA),
}
SCHEMA: Mapping[EntityKind, Mapping[str, FieldRule]] = {
    EntityKind.PROFILE: {
        **_ALL_KINDS,
        "url": FieldRule(_url, is_required=True),
        "engine": FieldRule(_one_of("auto", "spark", "local")),
        "master": FieldRule(_text),
        "start": FieldRule(_moment),
        "end": FieldRule(_moment),
    },
    EntityKind.DATASET: {
        **_ALL_KINDS,
        **_REPEATED,
        "every": FieldRule(_duration),
        "start": FieldRule(_moment),
        "table": FieldRule(_text),
        "tables": FieldRule(_list_of(table_pattern)),
        "policies": FieldRule(policy_texts),
        "where": FieldRule(_text),
        "flag": FieldRule(_path_pattern),
        "available": FieldRule(_word_of(Availability)),
        "late_arrival": FieldRule(_duration),
    },
    EntityKind.PROCESS: {
        **_ALL_KINDS,
        **_REPEATED,
        "run_as": FieldRule(_text),
        "sql": FieldRule(_text),
        "job": FieldRule(_JOB),
        "spark": FieldRule(_SPARK),
        "dialect": FieldRule(_one_of(*DIALECTS)),
        "parameters": FieldRule(_values),
        "inputs": FieldRule(_list_of(_INPUT)),
        "outputs": FieldRule(_list_of(_OUTPUT)),
        "parallel": FieldRule(_number(1, 64)),
        "order": FieldRule(_word_of(RunOrder)),
        "timeout": FieldRule(_duration),
        "retry": FieldRule(_RETRY),
        "catch_up": FieldRule(_word_of(CatchUp)),
        "late_data": FieldRule(_LATE_DATA),
    },
}
"""The fields of each kind."""


def read_entity(declaration: Declaration) -> Entity:
    """The entity that a declaration states; raises ENTITY with file, line and field.

    >>> read_entity(Declaration({"kind": "profile", "name": "here", "url": "palimpsest:///w"})).name
    'here'
    """
    try:
        given = declaration.fields.get("kind")
        kind = EntityKind(_ALL_KINDS["kind"].check(given, ("kind",)))
        fields: dict[str, Any] = _record_of(SCHEMA[kind])(dict(declaration.fields), ())
        return _entity(kind, fields)
    except FieldError as error:
        raise PalimpsestError(
            Code.ENTITY,
            f"{declaration.place(error.path)}: {error.message}",
            advice=error.advice,
            position=declaration.position(error.path),
        ) from error


def _entity(kind: EntityKind, fields: dict[str, Any]) -> Entity:
    """The entity of checked fields, with its moments in UTC, and its end behind its start."""
    del fields["kind"]
    name = fields.pop("name")
    _check_together(kind, fields)
    zone = ZoneInfo(fields["timezone"]) if "timezone" in fields else UTC
    for field in ("start", "end"):
        if field in fields:
            moment = datetime.fromisoformat(fields[field])
            try:
                aware = from_zone(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC)
            except OverflowError as error:
                raise FieldError((field,), "lies beyond the years 1 to 9999", _MOMENT) from error
            fields[field] = aware.isoformat()
    if "end" in fields and fields["end"] <= fields["start"]:
        raise FieldError(("end",), "is not after the start", "leave it out, or move it")
    _check_marks(kind, fields.get("sla", {}))
    entity = Entity.of(kind, name, fields)
    if "flag" in fields:
        _check_flag(entity)
    return entity


def _check_flag(dataset: Entity) -> None:
    """Raise ``FieldError`` for a file that shows the data of several instances by its date.

    A path without a date is of no instance, and shows all of them.
    """
    pattern, times = dataset.fields["flag"], dataset.nominal_times
    moments = list(islice(times.on_from(times.start), _FLAGS_COMPARED))
    paths = [path_at(pattern, moment, dataset.zone) for moment in moments]
    for path, (earlier, later) in zip(paths[1:], pairwise(moments), strict=True):
        if path == path_at(pattern, earlier, dataset.zone) != pattern:
            raise FieldError(
                ("flag",),
                f"is the same file, {path}, for the instances of {earlier:%Y-%m-%dT%H:%M} and"
                f" {later:%Y-%m-%dT%H:%M}",
                f"give the date as finely as every: {dataset.fields['every']} says",
            )


def _check_marks(kind: EntityKind, marks: Mapping[str, str]) -> None:
    """Raise ``FieldError`` for marks that come in the wrong order, or that nothing can meet."""
    if kind is EntityKind.DATASET and marks.keys() & {"should_start", "should_end"}:
        raise FieldError(
            ("sla",),
            "has a mark of processes: the data of a dataset neither starts nor ends",
            "use low and high",
        )
    for earlier, later in (("should_start", "should_end"), ("low", "high")):
        if earlier in marks and later in marks:
            first, then = Duration.parse(marks[earlier]), Duration.parse(marks[later])
            if first.longest >= then.shortest:
                raise FieldError(
                    ("sla", earlier), f"does not come before {later}", f"make {later} longer"
                )


def _check_together(kind: EntityKind, fields: dict[str, Any]) -> None:
    """Raise for fields that stand beside others which they need, or exclude."""
    if kind is EntityKind.PROCESS:
        found = [step for step in STEPS if step in fields]
        if len(found) != 1:
            said = "has both " + " and ".join(found) if found else "does not say what runs"
            raise FieldError((), said, "give one of " + ", ".join(STEPS))
        reads = {use["dataset"] for use in fields.get("inputs", ())}
        late = fields.get("late_data", {}).get("inputs", ())
        for place, use in enumerate(late):
            if use["dataset"] not in reads:
                raise FieldError(
                    ("late_data", "inputs", place, "dataset"),
                    f"{use['dataset']} is not an input of the process",
                    "name one of its inputs",
                )
    if kind is EntityKind.DATASET:
        check_dataset(fields, of_instances=_REPEATED.keys())
    needs = {Availability.ROWS: "where", Availability.FLAG: "flag"}
    field = needs.get(Availability(fields["available"])) if "available" in fields else None
    if field is not None and field not in fields:
        raise FieldError(
            ("available",), f"cannot be {fields['available']}", f"give the field {field} as well"
        )
