"""Names as they are typed on the command line, in the shell and in CALL."""

from __future__ import annotations

import pytest

from gateway.session.typed_names import column_names, table_name
from journal.model.schema import CatalogSnapshot, TableName

TABLES = {
    "t": ("main", "t"),
    "hr.t": ("hr", "t"),
    '"hr"."t"': ("hr", "t"),
    ' hr."a.b" ': ("hr", "a.b"),
    '"my.hr"."say ""t"""': ("my.hr", 'say "t"'),
    "two words.100%": ("two words", "100%"),
    'hr.quo"te': ("hr", 'quo"te'),
    "memory.hr.t": ("hr", "t"),
    "other.hr.t": ("other.hr", "t"),
}
COLUMNS = {
    "a": ("a",),
    " a , b ": ("a", "b"),
    '"a,b", c': ("a,b", "c"),
    '"say ""a""",two words': ('say "a"', "two words"),
}


@pytest.mark.parametrize("typed", TABLES)
def test_tables(typed: str) -> None:
    catalog = CatalogSnapshot(0, {}, {}, database="memory")
    assert table_name(typed, catalog, "main") == TableName(*TABLES[typed])


@pytest.mark.parametrize("typed", COLUMNS)
def test_columns(typed: str) -> None:
    assert column_names(typed) == COLUMNS[typed]


def test_an_absent_or_empty_text_names_no_columns() -> None:
    assert column_names(None) == column_names("") == ()
