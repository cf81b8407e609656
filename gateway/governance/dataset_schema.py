"""Checks the fields of a dataset: its tables and the policies that it states. Pure."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Any

from gateway.governance.dataset_policies import stated_properties
from gateway.governance.declarations import Path
from gateway.governance.field_rules import FieldError
from journal.model.errors import PalimpsestError
from journal.model.policy import check_stated, read_policy, stated_rules

_PATTERN = re.compile(r"[^\s,.]+\.[^\s,.]+")
_OF_DATA = frozenset({"where", "flag", "available", "late_arrival"})


def table_pattern(value: Any, path: Path) -> str:
    """A pattern of full names of tables."""
    text = value.strip() if isinstance(value, str) else ""
    if not _PATTERN.fullmatch(text):
        raise FieldError(
            path, f"{value!r} is no pattern of tables", "write schema.table, with * for any letters"
        )
    return text


def policy_texts(value: Any, path: Path) -> dict[str, str]:
    """Rules of a policy by name, each as SET POLICY takes it."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise FieldError(path, "has no rules", "write history: 1 YEAR")
    found: dict[str, str] = {}
    for name, text in value.items():
        try:
            stated = stated_properties({name: text})
            check_stated(read_policy(dict(stated)))
            found |= stated_rules(stated)
        except PalimpsestError as error:
            raise FieldError((*path, name), error.message, error.advice or "") from error
    return dict(sorted(found.items()))


def check_dataset(fields: dict[str, Any], of_instances: AbstractSet[str]) -> None:
    """Raise ``FieldError`` for one table without a schedule, and for several with one.

    ``of_instances`` are the fields of whatever has instances.
    """
    if ("table" in fields) == ("tables" in fields):
        said = "has both table and tables" if "table" in fields else "lacks the field table"
        raise FieldError((), said, "give table, or tables with patterns")
    if "tables" not in fields:
        for field in ("every", "start"):
            if field not in fields:
                raise FieldError((), f"lacks the field {field}", f"write {field}: ..")
        if "profile" in fields and "policies" in fields:
            raise FieldError(
                ("policies",),
                "belong to another store, that of the profile",
                "declare the dataset in that store",
            )
    else:
        for field in sorted(fields.keys() & (of_instances | _OF_DATA)):
            raise FieldError(
                (field,), "is for instances, and a dataset of several tables has none",
                "leave it out, or declare a dataset for each table",
            )  # fmt: skip
        if not fields["tables"] or not fields.get("policies"):
            raise FieldError(
                (), "lacks patterns of tables, or policies", "give tables and policies"
            )
    if "late_arrival" in fields and "LATE_ARRIVAL" in fields.get("policies", {}):
        raise FieldError(("late_arrival",), "stands under policies, too", "leave one of them out")
