r"""The options that ``\pset``, ``\x``, ``\timing`` and ``\set`` change."""

from __future__ import annotations

import re
from dataclasses import field
from decimal import Decimal
from typing import Any

from gateway.shell.command_arguments import split_words
from gateway.shell.formats import FORMATS
from gateway.shell.table import Style
from journal.model.lazy_dataclass import dataclass

_ON = {"on": True, "true": True, "1": True, "yes": True}
_OFF = {"off": False, "false": False, "0": False, "no": False}


_INTEGER = re.compile(r"[+-]?\d+")
_OUTCOME = re.compile(r":(ERROR|SQLSTATE|ROW_COUNT|LAST_ERROR_\w+)")
_DECIMAL = re.compile(r"[+-]?\d+\.\d*|[+-]?\.\d+")


class WrongOption(Exception):
    """An option that is not there, or a value it does not take; the text says which it does."""


@dataclass(slots=True)
class Options:
    """The shell's state apart from its connection; ``variables`` fill :name in statements."""

    form: str = "table"
    expanded: str = "auto"
    null: str = "NULL"
    rows: int = 0
    footer: bool = True
    timing: bool = False
    stop_on_error: bool = False
    confirm: bool = True
    pager: bool = True
    vi_keys: bool = False
    variables: dict[str, Any] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)
    """What the last statement came to, under psql's names: ERROR, SQLSTATE, ROW_COUNT and so on."""

    def keep_success(self, row_count: int) -> None:
        """Keep what psql's scripts ask of a statement that worked; -1: nobody counted its rows."""
        self.outcome |= {"ERROR": False, "SQLSTATE": "00000", "ROW_COUNT": max(row_count, 0)}

    def keep_failure(self, sqlstate: str, message: str) -> None:
        """Keep what psql's scripts ask of a statement that failed."""
        last = {"LAST_ERROR_SQLSTATE": sqlstate, "LAST_ERROR_MESSAGE": message}
        self.outcome |= {"ERROR": True, "SQLSTATE": sqlstate, "ROW_COUNT": 0, **last}

    def values_in(self, text: str) -> dict[str, Any]:
        """Values for the names behind colons in a statement; none where it can name no value."""
        if not self.variables and not _OUTCOME.search(text):
            return {}
        return {**self.outcome, **self.variables}

    def style(self, base: Style) -> Style:
        """The style of a stream with these options applied."""
        rows = self.rows if base.width is not None else 0
        expanded = self.expanded
        if base.width is None and expanded == "auto":
            expanded = "off"
        return Style(base.width, rows, self.null, expanded, base.color, base.unicode, self.footer)

    def print_options(self) -> dict[str, str]:
        r"""Name and value of each option of ``\pset``."""
        return {
            "expanded": self.expanded,
            "footer": "on" if self.footer else "off",
            "format": self.form,
            "null": self.null,
            "pager": "on" if self.pager else "off",
            "rows": str(self.rows),
        }

    def set_print_option(self, name: str, value: str | None) -> None:
        r"""``\pset name value``."""
        match name:
            case "format":
                if value not in FORMATS:
                    raise WrongOption(f"format takes one of {', '.join(FORMATS)}")
                self.form = value
            case "expanded" | "x":
                self.expanded = self._expanded(value)
            case "null":
                self.null = value or ""
            case "rows":
                if value is None or not value.isdigit():
                    raise WrongOption("rows takes a number; 0 shows all")
                self.rows = int(value)
            case "pager":
                self.pager = parse_switch(self.pager, value)
            case "footer":
                self.footer = parse_switch(self.footer, value)
            case _:
                known = ", ".join(self.print_options())
                raise WrongOption(f"there is no option {name}; there are {known}")

    def _expanded(self, value: str | None) -> str:
        if value == "auto":
            return "auto"
        return "on" if parse_switch(self.expanded == "on", value) else "off"


def parse_switch(now: bool, value: str | None) -> bool:
    """The other way round, or as ``value`` says."""
    if value is None:
        return not now
    known = {**_ON, **_OFF}
    if value.lower() not in known:
        raise WrongOption(f"{value} is neither on nor off")
    return known[value.lower()]


def variable_value(typed: str) -> object:
    """What ``\\set`` keeps: a number as one, anything else as text, quotes taken off.

    >>> variable_value("10"), variable_value("'10'"), variable_value("ten green")
    (10, '10', 'ten green')
    """
    if _INTEGER.fullmatch(typed):
        return int(typed)
    if _DECIMAL.fullmatch(typed):
        return Decimal(typed)
    return " ".join(split_words(typed))
