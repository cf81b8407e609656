"""One person, one key, spelled in several ways: who is meant is found, nobody else is."""

from __future__ import annotations

import pytest

from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import ErasureRequest, State
from journal.model.errors import Code, PalimpsestError
from spark_compaction.erasure.readmission import readmit_subjects
from tests.support.client import Client


def _accept(run: Client, *values: str, kind: str = "who") -> ErasureRequest:
    return erasure_of(run.connection.session).accept(ErasureSpec({kind: list(values)}), "me")


# What a request names, and whom it names among texts and among numbers.
NAMED = [
    ("7", {"7"}, {7}),
    ("007", {"007"}, {7}),
    ("-0", {"-0"}, {0}),
    ("-5", {"-5"}, {-5}),
    (" 7 ", {" 7 "}, {7}),
    ("--5", {"--5"}, set()),
    ("7.0", set(), set()),
    ("9" * 5000, set(), set()),
    ("18446744073709551615", set(), {18446744073709551615}),
    ("٣", {"٣"}, set()),
    ("\u00e9", {"\u00e9"}, set()),
    ("e\u0301", {"e\u0301"}, set()),
    ("A", {"A"}, set()),
    ("a ", {"a "}, set()),
    ("a\0b", {"a\0b"}, set()),
]
TEXTS = ["7", "007", "0007", "-0", "0", "-5", "--5", " 7 ", "٣", "3", "\u00e9", "e\u0301", "a", "A"]
TEXTS += ["a ", "a\0b", "a\0c"]
NUMBERS = [7, 0, -5, 3, 5]


@pytest.mark.first(1)
@pytest.mark.parametrize("sealed", [False, True])
def test_text_is_compared_as_text_and_numbers_by_value(run: Client, sealed: bool) -> None:
    run("CREATE TABLE texts (k INT PRIMARY KEY, who VARCHAR) WITH (erasure = 'who')")
    run("CREATE TABLE numbers (k INT PRIMARY KEY, who BIGINT) WITH (erasure = 'who')")
    run("CREATE TABLE large (k INT PRIMARY KEY, who UBIGINT) WITH (erasure = 'who')")
    for k, text in enumerate(TEXTS):
        run("INSERT INTO texts VALUES (?, ?)", k, text)
    for k, number in enumerate(NUMBERS):
        run("INSERT INTO numbers VALUES (?, ?)", k, number)
    run("INSERT INTO large VALUES (1, 18446744073709551615), (2, 7), (3, 0), (4, 3)")
    if sealed:
        run("CALL system.flush()")
    left = {"texts": set(TEXTS), "numbers": set(NUMBERS), "large": {18446744073709551615, 7, 0, 3}}
    for name, texts, numbers in NAMED:
        request = _accept(run, name)
        left = {"texts": left["texts"] - texts} | {
            t: left[t] - numbers for t in ("numbers", "large")
        }
        for table, expected in left.items():
            assert {who for (who,) in run(f"SELECT who FROM {table}")} == expected, (name, table)
        erasure_of(run.connection.session).cancel(request, "me")
        left = {"texts": set(TEXTS), "numbers": set(NUMBERS), "large": left["large"]}
        left["large"] = {18446744073709551615, 7, 0, 3}


def test_only_who_was_named_is_kept_out(run: Client) -> None:
    run("CREATE TABLE texts (who VARCHAR) WITH (erasure = 'who')")
    run("CREATE TABLE numbers (who BIGINT) WITH (erasure = 'who')")
    _accept(run, "007")
    run("INSERT INTO texts VALUES ('7'), ('0007')")
    run("INSERT INTO numbers VALUES (70)")
    for rows in ("texts VALUES ('007')", "numbers VALUES (7)"):
        assert run.error(f"INSERT INTO {rows}") == ("PAL-306", "23001")
    readmit_subjects(erasure_of(run.connection.session).journal, {"who": ["7"]}, "me")
    run("INSERT INTO numbers VALUES (7)")
    assert run.error("INSERT INTO texts VALUES ('007')") == ("PAL-306", "23001")


def test_bytes_that_are_no_text_are_refused(run: Client) -> None:
    run("CREATE TABLE texts (who VARCHAR) WITH (erasure = 'who')")
    with pytest.raises(PalimpsestError, match="UTF-8") as raised:
        _accept(run, b"\xff".decode(errors="surrogateescape"))
    assert raised.value.code is Code.ERASURE


KEYS = [
    ("DOUBLE", "0.0::DOUBLE", "-0.0::DOUBLE"),
    ("DOUBLE", "'nan'::DOUBLE", "-('nan'::DOUBLE)"),
    ("FLOAT", "-0.0::FLOAT", "0.0::FLOAT"),
    ("DECIMAL(9, 2)", "1.0", "1.00"),
    ("TIMESTAMPTZ", "'2024-01-01 00:00:00+00'", "'2024-01-01 09:00:00+09'"),
    ("TIMESTAMPTZ", "'infinity'", "'infinity'"),
    ("TIMETZ", "'12:00:00+00'", "'12:00:00+00'"),
    ("TIMESTAMP_NS", "'2024-01-01 00:00:00.123456789'", "'2024-01-01 00:00:00.123456789'"),
    ("HUGEINT", "-0", "0"),
    ("UUID", "'6B1D8F20-0000-0000-0000-00000000000A'", "'6b1d8f20-0000-0000-0000-00000000000a'"),
]


@pytest.mark.long
def test_a_key_does_not_come_back_in_another_spelling(run: Client) -> None:
    tables = {f"t{place}": case for place, case in enumerate(KEYS)}
    run("SET TimeZone = 'America/New_York'")
    for table, (kind, key, _) in tables.items():
        run(f"CREATE TABLE {table} (k {kind} PRIMARY KEY, v VARCHAR)")
        run(f"INSERT INTO {table} VALUES ({key}, 'first')")
    run("CALL system.flush()")
    for table, (_, key, same) in tables.items():
        run(f"UPDATE {table} SET k = {same}")
        run(f"ERASE FROM {table} WHERE k = {key}")
    run("SET TimeZone = 'Asia/Tokyo'")

    def check_nobody_is_there() -> None:
        for table, case in tables.items():
            for spelled in case[1:]:
                refused = run.error(f"INSERT INTO {table} VALUES ({spelled}, 'x')")
                assert refused == ("PAL-306", "23001"), case
            assert run(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL") == [], case

    check_nobody_is_there()
    run("CALL system.purge()")
    check_nobody_is_there()
    states = [r.state for r in requests(erasure_of(run.connection.session).journal)]
    assert states == [State.COMPLETED] * len(KEYS)


@pytest.mark.parametrize("kind", ["INTERVAL", "STRUCT(x DOUBLE)", "TIMESTAMPTZ[]"])
def test_what_has_many_spellings_is_no_key(run: Client, kind: str) -> None:
    assert run.error(f"CREATE TABLE t (k {kind} PRIMARY KEY)") == ("PAL-110", "0A000")
    assert run.error(f"CREATE TABLE t (k {kind}, n INT, PRIMARY KEY (n, k))")[0] == "PAL-110"
    run(f"CREATE TABLE t (k {kind})")
    run("CREATE TABLE lists (k VARCHAR[] PRIMARY KEY)")


CHANGES = [
    ("TYPE VARCHAR USING lower(who)",),
    ("TYPE BIGINT", "TYPE VARCHAR"),
    ("TYPE BIGINT USING who::BIGINT",),
    ("DROP", "ADD"),
    ("DROP", "ADD", "DROP", "ADD"),
    ("NAMED mail", "TYPE VARCHAR USING lower(mail)", "NAMED who"),
]


def _change_column(run: Client, table: str, changes: tuple[str, ...]) -> None:
    """Make the column ``who`` of a table another, change by change."""
    name = "who"
    for change in changes:
        match change.split()[0]:
            case "DROP":
                run(f"ALTER TABLE {table} DROP COLUMN who")
            case "ADD":
                run(f"ALTER TABLE {table} ADD COLUMN who VARCHAR")
            case "NAMED":
                run(f"ALTER TABLE {table} RENAME COLUMN {name} TO {change.split()[1]}")
                name = change.split()[1]
            case _:
                run(f"ALTER TABLE {table} ALTER COLUMN {name} {change}")


@pytest.mark.long
def test_a_column_that_is_made_anew_identifies_as_before(run: Client) -> None:
    tables = {f"t{place}": changes for place, changes in enumerate(CHANGES)}
    for table in tables:
        run(
            f"CREATE TABLE {table} (k INT PRIMARY KEY, n INT, who VARCHAR)"
            " WITH (erasure = 'who FPP 0.01')"
        )
        run(f"INSERT INTO {table} VALUES (1, 0, '77'), (2, 0, '88')")
    run("CALL system.flush()")
    for table, changes in tables.items():
        _change_column(run, table, changes)
        run(f"INSERT INTO {table} (k, n, who) VALUES (3, 0, '77'), (4, 0, '99')")
        run(f"UPDATE {table} SET who = '55' WHERE k = 1")
    request = _accept(run, "77")
    assert [target.keys for target in request.targets] == [2] * len(CHANGES)
    for table, changes in tables.items():
        assert run(f"SELECT k FROM {table} ORDER BY k") == [(2,), (4,)], changes
        refused = run.error(f"INSERT INTO {table} (k, n, who) VALUES (5, 0, '77')")
        assert refused == ("PAL-306", "23001"), changes
    run("CALL system.purge()")
    for table, changes in tables.items():
        left = {k for (k,) in run(f"SELECT k FROM {table} FOR SYSTEM_TIME ALL")}
        assert left == {2, 4}, changes


def test_an_identity_does_not_become_what_is_none(run: Client) -> None:
    run("CREATE TABLE t (k INT PRIMARY KEY, who BIGINT) WITH (erasure = 'who')")
    for change in ("TYPE DOUBLE", "TYPE DATE USING DATE '2024-01-01'"):
        assert run.error(f"ALTER TABLE t ALTER COLUMN who {change}")[0] == "PAL-211"
    run("ALTER TABLE t DROP COLUMN who")
    assert run.error("ALTER TABLE t ADD COLUMN who DOUBLE")[0] == "PAL-211"
    run("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'k AS customer')")
    run("ALTER TABLE t ADD COLUMN who DOUBLE")
