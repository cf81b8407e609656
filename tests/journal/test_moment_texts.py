"""Texts of dates as PostgreSQL reads them under DateStyle MDY."""

from __future__ import annotations

import pytest

from journal.model.errors import Code, PalimpsestError
from journal.sql.moment_text import iso_moment, may_be_moment

READ = {
    "January 8, 1999": "1999-01-08",
    "1999-Jan-08": "1999-01-08",
    "08-Jan-99": "1999-01-08",
    "Jan-08-69": "2069-01-08",
    "1999 08 Jan": "1999-01-08",
    "Mon Jan 8 1999": "1999-01-08",
    "1/8/1999": "1999-01-08",
    "01/02/03": "2003-01-02",
    "08 01 1999": "1999-08-01",
    "199-1-8": "0199-01-08",
    "19990108": "1999-01-08",
    "990108": "1999-01-08",
    "1999.008": "1999-01-08",
    "J2451187": "1999-01-08",
    "2040-04-10 BC": "2040-04-10 (BC)",
    "0001-01-01 AD": "0001-01-01",
    "1/8/99 17:32:01.5+01": "1999-01-08 17:32:01.5+01",
}


@pytest.mark.parametrize(("text", "iso"), READ.items())
def test_dates_are_read_by_month_and_day(text: str, iso: str) -> None:
    assert may_be_moment(text)
    assert iso_moment(text) == iso


@pytest.mark.parametrize("text", ["99-01-08", "99 Jan 08", "18/1/1999", "Feb 29 1999", "202001"])
def test_a_part_that_is_none_is_named(text: str) -> None:
    with pytest.raises(PalimpsestError, match=text) as raised:
        iso_moment(text)
    assert raised.value.code is Code.OUT_OF_RANGE


@pytest.mark.parametrize(
    "text", ["today", "1.2.3", "May", "12:30", "a-b-c", "2020", "epoch", "19970210 173201 -0800"]
)
def test_other_texts_stay(text: str) -> None:
    assert iso_moment(text) is None


@pytest.mark.parametrize("text", ["1999-01-08", "2020-01-02 03:04:05+01", "it's", "a" * 99, ""])
def test_iso_forms_and_long_texts_are_not_looked_at(text: str) -> None:
    assert not may_be_moment(text)
