"""What stands in the place of values: its form, and that what was made once stays."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from journal.erasure.column_changes import (
    Changes,
    ColumnChange,
    ValueChange,
    hash_key_of,
    parse_change,
)
from journal.model.errors import PalimpsestError
from journal.model.schema import Column, JournalFormat, Table
from journal.model.table_name import TableName
from journal.model.version import VersionType

VALUE = "Ada.Lovelace-7@x.Example"
FIELDS = (("k", "INTEGER"), ("v", "VARCHAR"), ("s", "BIGINT"))
TABLE = Table(
    1,
    TableName("main", "p"),
    (Column("k", "k", "INTEGER"), Column("v", "v", "VARCHAR")),
    ("k",),
    format=JournalFormat(version_column="s", version_type=VersionType.BIGINT),
)
LONG = "Ab1" * 40
TEXTS = [VALUE, "", None, "é中 123", LONG, "+49 30 1234567", "sha256:ab", "x" * 3]


def _twice(change: ColumnChange) -> tuple[list[str | None], list[int]]:
    """The values after a change, and how many rows it would change before and after it."""
    changes = Changes(TABLE, [change], exp.Literal.string(hash_key_of("ab" * 32)))
    with duckdb.connect() as con:
        con.execute("CREATE TABLE p (k INTEGER, v VARCHAR, s BIGINT)")
        con.executemany("INSERT INTO p VALUES (?, ?, ?)", [[i, t, i] for i, t in enumerate(TEXTS)])
        counts = []
        for _ in range(2):
            where = changes.applies(FIELDS, "p")
            counted = exp.select(exp.Count(this=exp.Star())).from_("p").where(where)
            counts += [con.execute(counted.sql("duckdb")).fetchall()[0][0]]
            value = changes.values(FIELDS, "p")["v"]
            made = exp.update("p", {"v": value}, where=where)
            con.execute(made.sql("duckdb"))
        found = [row[0] for row in con.execute("SELECT v FROM p ORDER BY k").fetchall()]
    return found, counts


@pytest.mark.parametrize(
    "text", ["null", "constant n/a", "mask", "mask 4", "hash", "hmac", "format"]
)
def test_what_was_changed_once_stays(text: str) -> None:
    found, (first, second) = _twice(parse_change("v", text))
    assert (first > 0, second) == (True, 0)
    assert found[2] is None
    assert VALUE not in found
    assert LONG not in found


def test_masks_and_formats_have_their_forms() -> None:
    shown = {word: _twice(parse_change("v", word))[0] for word in ("mask", "mask 4", "format")}
    assert shown["mask"][0] == "xxx.xxxxxxxx-x@x.xxxxxxx"
    assert shown["mask 4"][0] == "xxx.xxxxxxxx-x@x.xxxmple"
    assert shown["format"][0] == "Xxx.Xxxxxxxx-0@x.Xxxxxxx"
    assert shown["format"][3] == "?? 000"


def test_only_what_began_before_is_changed() -> None:
    found, counts = _twice(ColumnChange("v", ValueChange.NULL, before=5))
    assert (found[:5], found[5:]) == ([None] * 5, TEXTS[5:])
    assert counts == [4, 0]


@pytest.mark.parametrize("text", ["", "scramble", "mask many", "hash 3", "constant"])
def test_what_is_no_change_is_refused(text: str) -> None:
    if text == "constant":
        assert parse_change("v", text).value == ""
        return
    with pytest.raises(PalimpsestError, match="is not a change of a column"):
        parse_change("v", text)
