"""Bloom filters and their sidecars: never a no for what is there, no harm when they are lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.files.filters import bloom
from journal.files.filters.hashing import hash_rows
from journal.files.filters.key_filters import KeyFilters
from journal.files.filters.sidecar import (
    KEY,
    FilterBuilder,
    drop_from_sidecar,
    identifier_hashes,
    merge_sidecars,
    read_sidecar,
    write_sidecar,
)
from journal.identity.descriptor import (
    DescriptorEntry,
    check_descriptor,
    descriptor_of,
    parse_descriptor,
)
from journal.identity.paths import parse_path
from journal.model.errors import PalimpsestError
from journal.model.schema import Table
from journal.model.segment import SIDECAR
from journal.stores.embedded.recovery import recover
from tests.support.client import Client


@given(st.lists(st.text(max_size=40), min_size=1, max_size=200), st.floats(1e-6, 0.5))
def test_what_was_put_in_is_found(values: list[str], fpp: float) -> None:
    hashes = hash_rows(pa.array(values))
    made = bloom.build(hashes.copy(), fpp)
    for value in values:
        assert made.may_hold_any(hash_rows(pa.array([value], pa.large_string())))
    sliced = pa.array(["x" * 9, *values])[1:]
    assert (hash_rows(sliced) == hashes).all()


@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.001, 0.0001])
def test_false_answers_stay_within_the_share_asked_for(fpp: float) -> None:
    made = bloom.build(hash_rows(pa.array(range(100_000))), fpp)
    others = hash_rows(pa.array(range(10**6, 2 * 10**6)))
    assert made.may_hold(others).mean() <= fpp * 1.3


def test_a_filter_is_sized_by_its_distinct_values() -> None:
    values = hash_rows(pa.array([f"user {i % 50_000}" for i in range(400_000)]))
    assert bloom.build(values[:80_000].copy(), 0.01).distinct == pytest.approx(50_000, rel=0.01)
    assert bloom.build(values.copy(), 0.01).distinct == pytest.approx(50_000, rel=0.01)
    assert bloom.build(values[:20_000].copy(), 0.01).distinct == 20_000


DESCRIPTOR = (
    "email LOWER, st.mail AS email, contacts[].mail AS email FPP 0.0001, tags{}[] AS customer,"
    " tags{keys} AS tag"
)
NESTED = (
    "CREATE TABLE p (id INTEGER PRIMARY KEY, email VARCHAR, st STRUCT(mail VARCHAR, n INT),"
    " contacts STRUCT(mail VARCHAR)[], tags MAP(VARCHAR, BIGINT[]))"
    f" WITH (erasure = '{DESCRIPTOR}')"
)
ROWS = (
    "INSERT INTO p SELECT i, ' U'||i||'@x', {'mail': 's'||i, 'n': i}, [{'mail': 'c'||i},"
    " {'mail': NULL}], MAP {'k'||i: [i, i + 1]} FROM range(1000) t(i)"
)


def _held(client: Client, name: str, *values: object) -> list[bool]:
    table = client.connection.session.journal.state.catalog.by_id(1)
    assert table is not None
    (filters,) = read_sidecar(client.files()[0].parent).values()
    identity = next(i for i in descriptor_of(table) if str(i.path) == name)
    hashes = identifier_hashes(pa.array(values), identity)
    assert hashes is not None
    return list(filters[identity.id].may_hold(hashes))


def test_a_sealed_segment_has_filters_of_nested_values(run: Client) -> None:
    run(NESTED)
    run(ROWS)
    run("CALL system.flush('p')")
    assert _held(run, "email", "u5@x", "U5@X ", "nobody@x") == [True, True, False]
    assert _held(run, "st.mail", "s77", "s1000") == [True, False]
    assert _held(run, "contacts[].mail", "c999", "c1000") == [True, False]
    assert _held(run, "tags{}[]", 1000, 2000) == [True, False]
    assert _held(run, "tags{keys}", "k999", "k1000") == [True, False]


def test_keys_have_a_filter_where_their_bounds_say_less(run: Client) -> None:
    run(NESTED)
    run(ROWS)
    run("CALL system.flush('p')")
    (filters,) = read_sidecar(run.files()[0].parent).values()
    assert KEY not in filters, "its keys are the numbers between their bounds"
    run("CREATE TABLE q (id INTEGER PRIMARY KEY, email VARCHAR) WITH (filters = 'email')")
    run("INSERT INTO q SELECT i * 5, 'u' || i FROM range(1000) t(i)")
    run("CALL system.flush('q')")
    (folder,) = {f.parent for f in run.files() if "q_journal" in f.parts}
    (filters,) = read_sidecar(folder).values()
    keys = hash_rows(pa.array([0, 4995, 4996, 5000]))
    assert list(filters[KEY].may_hold(keys)) == [True, True, False, False]


def test_rows_that_go_straight_to_files_have_filters_too(run: Client) -> None:
    run("SET memory_rows = 100")
    run(NESTED)
    run(ROWS)
    assert _held(run, "email", "u5@x", "nobody@x") == [True, False]


def test_tables_without_a_descriptor_have_none(run: Client) -> None:
    run("CREATE TABLE p (id INTEGER PRIMARY KEY)")
    run("INSERT INTO p VALUES (1)")
    run("CALL system.flush('p')")
    assert not list(run.root.rglob(SIDECAR))


def test_a_damaged_sidecar_says_nothing(run: Client) -> None:
    run(NESTED)
    run(ROWS)
    run("CALL system.flush('p')")
    folder = run.files()[0].parent
    whole = (folder / SIDECAR).read_bytes()
    for damaged in (whole[:50], whole[:5], b"", whole[::-1]):
        (folder / SIDECAR).write_bytes(damaged)
        assert read_sidecar(folder) == {}
    (folder / SIDECAR).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "email lower" in read_sidecar(folder)["part_0.parquet"]
    assert KEY not in read_sidecar(folder)["part_0.parquet"]
    (folder / SIDECAR).unlink()
    assert read_sidecar(folder) == {}
    assert run("SELECT count(*) FROM p") == [(1000,)]


def test_the_sidecar_goes_with_its_segment(connect: Callable[..., Client]) -> None:
    run = connect()
    run(NESTED)
    run("SET memory_rows = 100")
    run("BEGIN")
    run(ROWS)
    assert len(list(run.root.rglob(SIDECAR))) == 1
    run("ROLLBACK")
    assert not list(run.root.rglob(SIDECAR))
    run(ROWS)
    orphan = run.files()[0].parent.with_name("orphan")
    orphan.mkdir()
    (orphan / "part_0.parquet").write_bytes(b"")
    (orphan / SIDECAR).write_bytes(b"")
    recover(run.connection.session.journal)
    assert not orphan.exists()
    assert len(list(run.root.rglob(SIDECAR))) == 1


def test_one_file_can_leave_a_sidecar(tmp_path: Path) -> None:
    identity = DescriptorEntry(parse_path("a"), "a")
    builder = FilterBuilder((identity,), ("a",))
    builder.add(pa.RecordBatch.from_pydict({"a": ["x", None]}))
    filters = builder.finish()
    write_sidecar(tmp_path, {"one": filters, "two": filters})
    drop_from_sidecar(tmp_path, ["one"])
    assert set(read_sidecar(tmp_path, ["a"])) == {"two"}
    assert KEY not in read_sidecar(tmp_path)["two"], "a key with NULL cannot be looked for"
    drop_from_sidecar(tmp_path, ["two"])
    assert not (tmp_path / SIDECAR).exists()


def test_types_that_cannot_be_hashed_have_no_filter() -> None:
    builder = FilterBuilder((DescriptorEntry(parse_path("a"), "a"),), ("a",))
    builder.add(pa.RecordBatch.from_pydict({"a": np.array([1.5, 2.5])}))
    assert builder.finish() == {}


@pytest.mark.parametrize(
    "text",
    [
        *("", ",", "nobody", "email FPP", "email FPP 2", "email NDV 0", "email WHAT", "id LOWER"),
        *("st", "st.nothing", "st[]", "contacts.mail", "tags{}", "email.x", "[]", "email[", "st."),
    ],
)
def test_descriptors_that_cannot_be_used_are_refused(run: Client, text: str) -> None:
    run(NESTED)
    table = run.connection.session.journal.state.catalog.by_id(1)
    assert table is not None
    with pytest.raises(PalimpsestError, match="PAL-211"):
        check_descriptor(table, text)


def test_descriptors_are_read_as_they_are_written(run: Client) -> None:
    run(NESTED)
    table = run.connection.session.journal.state.catalog.by_id(1)
    assert table is not None
    stored = check_descriptor(table, DESCRIPTOR)
    assert parse_descriptor(stored) == parse_descriptor(DESCRIPTOR)
    assert check_descriptor(table, stored) == stored


def test_parts_of_a_sidecar_become_one(tmp_path: Path) -> None:
    builder = FilterBuilder((DescriptorEntry(parse_path("a"), "a"),))
    builder.add(pa.RecordBatch.from_pydict({"a": ["x"]}))
    filters = builder.finish()
    write_sidecar(tmp_path, {"one": filters}, "1")
    write_sidecar(tmp_path, {"two": filters}, "2")
    assert set(read_sidecar(tmp_path)) == {"one", "two"}
    merge_sidecars(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [SIDECAR]
    assert set(read_sidecar(tmp_path)) == {"one", "two"}


def test_point_reads_open_only_files_that_may_hold_the_key(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TABLE p (id VARCHAR PRIMARY KEY, n INTEGER) WITH (filters = 'id')")
    for part in range(4):
        run("INSERT INTO p SELECT 'k' || (i * 4 + ?), i FROM range(50) t(i)", part)
        run("CALL system.flush('p')")
    asked: list[tuple[int, int]] = []
    narrow = KeyFilters.matching_paths

    def noted(
        self: KeyFilters, root: Path, table: Table, paths: list[str], *what: object
    ) -> object:
        found = narrow(self, root, table, paths, *what)
        asked.append((len(paths), len(found)))
        return found

    monkeypatch.setattr(KeyFilters, "matching_paths", noted)
    assert run("SELECT n FROM p WHERE id = 'k41'") == [(10,)]
    assert run("SELECT n FROM p WHERE id = ?", "k42") == [(10,)]
    assert run("SELECT n FROM p WHERE id = ?", "nobody") == []
    assert asked
    assert all(found <= 2 for _, found in asked)
    for folder in {f.parent for f in run.files()}:
        (folder / SIDECAR).unlink()
    assert run("SELECT n FROM p WHERE id = 'k43'") == [(10,)]
