"""Spellings that a normaliser says are one are one wherever somebody is looked for, and fenced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlglot import exp

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.identity.descriptor import parse_descriptor
from journal.identity.identifiers import normal
from journal.model.errors import PalimpsestError
from journal.model.plan import Query
from journal.sql.relations import Reader, column
from journal.transactions.reading import reading
from spark_compaction.erasure.readmission import readmit_request
from tests.support.kept import rows
from tests.support.normaliser_reference import FORMS, TEXTS
from tests.support.stores.store import Capability, Store
from tests.support.under_hold import purge

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
MINE = ("079 123 45 67", "+41 (0)79 123-45-67", "0041791234567", "(079)1234567")
OTHERS = ("079 123 45 68", "+49 79 1234567", "791234567", "41791234567", "079 123 45 67 x2", "n/a")
CARD, CARDS = "7561.2345.6789", ("756123456789", "7561 2345-6789")
CREATED = "CREATE TABLE {} (id INTEGER PRIMARY KEY, phone VARCHAR) WITH (erasure = '{}')"
PLATE, PLATES = "zh 12-3", ("ZH123", "zh.1.2.3")


@pytest.fixture
def con(store: Store) -> Connection:
    """One connection."""
    return store.connect()


def _make(con: Connection) -> None:
    """Rows of one person in several spellings: sealed before the descriptor, after it, and head."""
    columns = "phone VARCHAR, card VARCHAR, plate VARCHAR"
    con.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {columns})")
    _insert(con, [(1, MINE[0], None, None), (2, OTHERS[0], None, None)])
    con.execute("OPTIMIZE t")
    described = "phone PHONE CH AS phone_number, card DIGITS, plate ALPHANUMERIC"
    con.execute(f"ALTER TABLE t SET TBLPROPERTIES ('erasure' = '{described}')")
    values: list[tuple[Any, ...]] = [(n, text, None, None) for n, text in enumerate(MINE[1:], 10)]
    values += [(n, text, None, None) for n, text in enumerate(OTHERS[1:], 20)]
    _insert(con, values)
    con.execute("OPTIMIZE t")
    values = [(30, None, CARDS[0], None), (31, None, CARDS[1], None), (32, None, f"x{CARD}", None)]
    values += [(40, None, None, PLATES[0]), (41, None, None, PLATES[1]), (42, None, None, "zü 123")]
    _insert(con, values)


def _described(con: Connection, name: str, descriptor: str) -> None:
    con.execute(CREATED.format(name, descriptor))


def _insert(con: Connection, values: list[tuple[Any, ...]], table: str = "t") -> None:
    shown = ", ".join(
        f"({', '.join('NULL' if v is None else repr(v) for v in row)})" for row in values
    )
    con.execute(f"INSERT INTO {table} VALUES {shown}")


def _accept(con: Connection, **named: str) -> Any:
    subjects = {name: [value] for name, value in named.items()}
    return erasure_of(con.session).accept(ErasureSpec(subjects), "tester")


def _ids(con: Connection, table: str = "t") -> list[int]:
    return [row[0] for row in rows(con, f"SELECT id FROM {table} ORDER BY id")]


def _refused(con: Connection, statement: str, code: str = "PAL-306") -> str:
    with pytest.raises(gateway.Error) as caught:
        con.execute(statement)
    assert code in str(caught.value), caught.value
    return str(caught.value)


def _call(url: str, *words: str, code: int = 0) -> Any:
    run = CliRunner().invoke(main, [*words, "--json"], env={"PALIMPSEST_WAREHOUSE": url})
    assert run.exit_code == code, run.output + run.stderr
    return json.loads(run.stdout)


@pytest.mark.also_on("hive")
def test_the_store_gives_the_form_of_the_reference(con: Connection) -> None:
    con.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, v VARCHAR)")
    for number, text in enumerate(TEXTS):
        con.execute("INSERT INTO texts VALUES (?, ?)", [number, text])
    con.execute("OPTIMIZE texts")
    table = next(t for t in con.session.journal.state.catalog.tables() if t.name.name == "texts")
    with reading(con.session.journal) as statement:
        tiers = statement.committed.tables[table.id].tiers
        for word, reference in FORMS.items():
            (entry,) = parse_descriptor(f"v {word}".strip())
            current = Reader(table, tiers).current([(column(n), n) for n in ("id", "v")])
            form = exp.alias_(normal(column("v", "r"), entry.normaliser), "f")
            found = exp.select(column("id", "r"), form).from_(current.subquery("r"))
            shown = statement.session.arrow(Query.of(found), {}).to_pylist()
            forms = {row["id"]: row["f"] for row in shown}
            assert [forms[n] for n in range(len(TEXTS))] == [*map(reference, TEXTS)], word


@pytest.mark.long
@pytest.mark.also_on("postgres")
@pytest.mark.also_on("hive")
def test_every_spelling_is_erased_and_none_comes_back(con: Connection) -> None:
    _make(con)
    dry = erasure_of(con.session).dry_run(ErasureSpec({"phone_number": [MINE[2]]}))
    assert [t.keys for t in dry.targets if t.table.endswith("t")] == [4]
    _accept(con, phone_number=MINE[2])
    _accept(con, card=CARD)
    _accept(con, plate=PLATE)
    left = [2, *range(20, 25), 32, 42]
    assert _ids(con) == left
    _refused(con, f"INSERT INTO t VALUES (99, '{MINE[3]}', NULL, NULL)")
    purge(con)
    assert {r.state.value for r in requests(con.session.journal)} == {"COMPLETED"}
    assert _ids(con) == left
    past = rows(con, "SELECT DISTINCT id FROM t FOR SYSTEM_TIME ALL ORDER BY id")
    assert [row[0] for row in past] == left
    for spelling in (*MINE, "00 41 (0) 79 123 45 67"):
        _refused(con, f"INSERT INTO t VALUES (99, '{spelling}', NULL, NULL)")
    _refused(con, "INSERT INTO t VALUES (99, NULL, '7561-2345/6789', NULL)")
    _refused(con, "UPDATE t SET plate = 'ZH 1 2 3' WHERE id = 2")
    _insert(
        con, [(90, OTHERS[0], f"{CARD}0", "zh 124"), (91, "---", "", "ü"), (92, "n/a", "-", ".")]
    )
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.also_on("hive")
def test_what_is_no_number_names_nothing_but_itself(con: Connection) -> None:
    _described(con, "t", "phone PHONE DE")
    _insert(
        con, [(1, "---"), (2, ""), (3, " - "), (4, "unknown"), (5, "Unknown"), (6, "030 12345")]
    )
    _accept(con, phone="---")
    assert _ids(con) == [2, 3, 4, 5, 6]
    _accept(con, phone="unknown")
    assert _ids(con) == [2, 3, 5, 6]


@pytest.mark.also_on("postgres")
@pytest.mark.also_on("hive")
def test_a_normaliser_is_not_changed_under_what_is_on_record(con: Connection) -> None:
    _described(con, "t", "phone")
    change = "ALTER TABLE {} SET TBLPROPERTIES ('erasure' = '{}')"
    # Nothing is on record yet.
    for words in ("phone DIGITS", "phone PHONE CH", "phone PHONE DE", "phone"):
        con.execute(change.format("t", words))
    _insert(con, [(1, "0791234567"), (2, "079 123 45 67")])
    _accept(con, phone="0791234567")
    assert _ids(con) == [2]
    told = _refused(con, change.format("t", "phone DIGITS"), "PAL-513")
    assert "1 request " in told
    assert "0791234567" not in told
    _refused(con, CREATED.format("u", "phone DIGITS"), "PAL-513")
    con.execute(change.format("t", "phone LOWER"))  # Each record has that form.
    _refused(con, change.format("t", "phone"), "PAL-513")
    _described(con, "u", "phone DIGITS AS telephone")
    _accept(con, telephone="0791234567")
    _refused(con, "INSERT INTO u VALUES (1, '079 123 45 67')")
    # What is on record since has the form of every table.
    _described(con, "w", "phone DIGITS AS telephone")
    _refused(con, "INSERT INTO w VALUES (1, '079 123 45 67')")
    _refused(con, change.format("w", "phone ALPHANUMERIC AS telephone"), "PAL-513")
    for request in requests(con.session.journal):
        readmit_request(erasure_of(con.session).journal, request, "tester")
    con.execute(change.format("t", "phone DIGITS"))


@pytest.mark.also_on("hive")
def test_a_number_of_no_country_is_asked_for_again(con: Connection) -> None:
    for name, country in (("swiss", "CH"), ("german", "DE")):
        _described(con, name, f"phone PHONE {country}")
    _insert(con, [(1, "079 123 45 67")], "swiss")
    _insert(con, [(1, "079 123 45 67"), (2, "+41 79 123 45 67")], "german")
    with pytest.raises(PalimpsestError, match="several countries"):
        _accept(con, phone="079 123 45 67")
    _accept(con, phone="0041 79 123 45 67")
    assert (_ids(con, "swiss"), _ids(con, "german")) == ([], [1])


@pytest.mark.also_on("postgres")
@pytest.mark.also_on("hive")
@pytest.mark.first(1)
@pytest.mark.parametrize("subject", ["phone_number", "phone"])
def test_a_hold_keeps_every_spelling(con: Connection, store: Store, subject: str) -> None:
    _make(con)
    rows(con, f"CALL system.hold(subject => '{subject}={MINE[0]}', reason => 'matter 1')")
    request = _accept(con, phone_number=MINE[2])
    assert request.state.value == "ON_HOLD"
    assert _ids(con) == [1, 2, 10, 11, 12, *range(20, 25), 30, 31, 32, 40, 41, 42]
    told = _refused(con, CREATED.format("u", f"phone DIGITS AS {subject}"), "PAL-513")
    assert "1 legal hold " in told
    (found,) = rows(con, "SELECT id FROM system.holds")
    rows(con, f"CALL system.release('{found[0]}')")
    assert _ids(con)[:2] == [2, 20]


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_the_desk_knows_a_person_in_every_spelling(store: Store, tmp_path: Path) -> None:
    with store.connect() as con:
        _make(con)
    url = store.url

    def submit(action: str, phone: str, *words: str) -> dict[str, Any]:
        subject = ("--action", action, "--subject", f"phone_number={phone}")
        (made,) = _call(url, "privacy", "submit", *subject, *words)
        return dict(made)

    first, again = submit("restriction", MINE[0]), submit("restriction", MINE[1])
    assert (first["state"], again["state"]) == ("QUEUED", "DUPLICATE")
    _call(url, "privacy", "run")
    with store.connect() as con:
        assert _ids(con)[:2] == [2, 20]
        _refused(con, f"INSERT INTO t VALUES (99, '{MINE[3]}', NULL, NULL)")
    _call(url, "privacy", "lift", first["id"])
    submit("rectification", MINE[1], "--table", "t", "--set", "plate=right")
    _call(url, "privacy", "run")
    with store.connect() as con:
        assert rows(con, "SELECT id FROM t WHERE plate = 'right' ORDER BY id") == [
            (1,),
            (10,),
            (11,),
            (12,),
        ]
    submit("access", MINE[2])
    _call(url, "privacy", "run")
    (export,) = _call(url, "privacy", "export")
    assert (Path(export["path"]).exists(), export["rows"] >= 4) == (True, True)
    submit("erasure", MINE[3])
    _call(url, "privacy", "run")
    assert not Path(export["path"]).exists()
    with store.connect() as con:
        assert _ids(con)[:2] == [2, 20]


@pytest.mark.also_on("hive")
def test_a_rejected_row_in_another_spelling_goes(con: Connection, tmp_path: Path) -> None:
    _described(con, "t", "phone PHONE CH")
    wrong = "".join(f"x{n},{text}\n" for n, text in enumerate((*MINE, OTHERS[0], "n/a")))
    (tmp_path / "t.csv").write_text(f"id,phone\n1,079 000 00 00\n{wrong}")
    rejects = tmp_path / "wrong.csv"
    options = f"HEADER, ON_ERROR ignore, REJECTS '{rejects}'"
    con.execute(f"COPY t FROM '{tmp_path / 't.csv'}' ({options})")
    _accept(con, phone="+41791234567")
    purge(con)
    left = rejects.read_text()
    assert ("123 45 67" in left, "4567" in left, OTHERS[0] in left, "n/a" in left) == (
        *(False, False),
        *(True, True),
    )
