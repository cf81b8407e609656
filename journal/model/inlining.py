"""The table option ``inline_commits``: small commits stay in the catalog for a while. Pure."""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold

PROPERTY = "inline_commits"
_WORDS = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


def inline_commits(table: Table) -> bool | None:
    """What a table says of its small commits; None where it says nothing.

    Raises SETTING_VALUE for a word that is neither on nor off.
    """
    said = next((value for name, value in table.properties if fold(name) == PROPERTY), None)
    if said is None:
        return None
    found = _WORDS.get(fold(said))
    if found is None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"the property {PROPERTY} cannot be {said!r}",
            advice="use 'on' or 'off'",
        )
    return found
