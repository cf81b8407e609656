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
    "Mon Feb 10 17:32:01 1997 PST": "1997-02-10 17:32:01-08",
    "Feb 10 5:32PM 1997": "1997-02-10 17:32:00",
    "Feb 10 17:32:01 1997 -0800": "1997-02-10 17:32:01-08:00",
    "19970210 173201.25 Europe/Berlin": "1997-02-10 17:32:01.25 europe/berlin",
    "20010607T1400": "2001-06-07 14:00:00",
    "J2452271T040506+08": "2001-12-27 04:05:06+08",
    "Feb 16 17:32:01 0097 BC": "0097-02-16 (BC) 17:32:01",
    "2001-06-03 12:05 AM": "2001-06-03 00:05:00",
    "2001-06-03 04:05:06 CET": "2001-06-03 04:05:06+01",
    "2001-06-03 04:05:06 MET DST": "2001-06-03 04:05:06+02",
    "2001-06-03 10:10:00 GMT+8": "2001-06-03 10:10:00-08",
    "2001-06-03 10:10:00 -3:30": "2001-06-03 10:10:00-03:30",
    "2001-06-03 PST": "2001-06-03 00:00:00-08",
    "1997-12-31 24:00:00": "1998-01-01 00:00:00",
    "1997-02-10 10:59:60": "1997-02-10 11:00:00",
    "2001-06-03 10:10:00.1234567": "2001-06-03 10:10:00.123457",
}


@pytest.mark.parametrize(("text", "iso"), READ.items())
def test_dates_are_read_by_month_and_day(text: str, iso: str) -> None:
    assert may_be_moment(text)
    assert iso_moment(text) == iso


@pytest.mark.parametrize(
    "text",
    "99-01-08|99 Jan 08|18/1/1999|Feb 29 1999|202001|1/8/99 14:05 PM|Feb 3 25:00 1999".split("|"),
)
def test_a_part_that_is_none_is_named(text: str) -> None:
    with pytest.raises(PalimpsestError, match=text) as raised:
        iso_moment(text)
    assert raised.value.code is Code.MOMENT_RANGE


@pytest.mark.parametrize("text", ["today", "1.2.3", "May", "12:30", "a-b-c", "2020", "epoch"])
def test_texts_that_are_no_moments_are_left_alone(text: str) -> None:
    assert iso_moment(text) is None


@pytest.mark.parametrize("text", ["1999-01-08", "2020-01-02 03:04:05+01", "it's", "a" * 99, ""])
def test_iso_forms_and_long_texts_are_not_looked_at(text: str) -> None:
    assert not may_be_moment(text)
