"""Row triggers: functions in PL/pgSQL, and when which of them changes a row. Values only.

The body of a function is kept as it was written: the rewriter makes expressions of it for the
table whose rows are written.
"""

from __future__ import annotations

from typing import Any

from journal.model.lazy_dataclass import dataclass

INSERT, UPDATE = "INSERT", "UPDATE"


@dataclass(frozen=True, slots=True)
class Trigger:
    """BEFORE .. FOR EACH ROW: what happens to each row before it is written.

    ``events`` are INSERT and UPDATE, ``columns`` the physical names of UPDATE OF, none for any;
    ``condition`` is the text of WHEN. ``function`` is a schema and a name, ``arguments`` what the
    function finds in TG_ARGV.
    """

    name: str
    events: tuple[str, ...]
    function: tuple[str, str]
    columns: tuple[str, ...] = ()
    condition: str | None = None
    arguments: tuple[str, ...] = ()
    enabled: bool = True
    comment: str | None = None


def trigger_from_json(raw: dict[str, Any]) -> Trigger:
    """The trigger that ``asdict`` made plain."""
    schema, name = raw["function"]
    listed = {part: tuple(raw[part]) for part in ("events", "columns", "arguments")}
    return Trigger(**{**raw, **listed, "function": (schema, name)})
