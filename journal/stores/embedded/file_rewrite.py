"""Segment files written anew without the rows of some keys: the unit of work of a purge.

Runs wherever Spark puts it, on a DuckDB of its own in memory; opens no warehouse. The keys are the
small side: they go along with every unit and are anti-joined, so rows whose key or identifiers are
NULL stay. What it reports lets the owner check the result without reading it again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from journal.files.filters.read_back import BATCH_ROWS, take_in
from journal.files.filters.sidecar import FileFilters, FilterBuilder, write_sidecar
from journal.files.parquet_files import checksum
from journal.files.staging import attempt, attempt_id, spill_folder
from journal.identity.descriptor import parse_descriptor
from journal.local_engine.hash import row_hash
from journal.local_engine.hash_key import bound_hash_key
from journal.local_engine.in_memory import connect_in_memory
from journal.local_engine.session import DIALECT
from journal.model.segment import SegmentFile

_KEYS = "keys"
_GONE = "gone"
_NONE = {"rows": 0, "open": 0, "closing": 0, "tombstone": 0, "digest": "0"}


def rewrite_without(unit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each ``source`` of the unit's files without the keys in ``keys`` (files), as its ``target``.

    ``casts`` turns keys, column by column, into the types of the sources: SQL expressions. For each
    file what it held, what went, and what the new one holds, under which ``name`` beside the
    target; ``file`` is None if nothing is left. With ``values`` no row goes: of those of the keys,
    the ones that a condition ``applies`` to get these in the place of columns, SQL over the rows
    ``p``, and what they hold then is ``made``; keyed hashes take ``hash_key``. The targets lie in
    one folder that is open.
    """
    folder = Path(unit["files"][0]["target"]).parent
    given = (folder.parent, folder.name)
    with (
        spill_folder(*given) as scratch,
        attempt(*given) as place,
        _connected(scratch) as connection,
    ):
        files = [
            {"source": f["source"], "target": _target(f["target"], folder.parent / place)}
            for f in unit["files"]
        ]
        with bound_hash_key(connection.execute, unit.get("hash_key")):
            return _rewrite_files(connection, {**unit, "files": files})


def _connected(scratch: Path) -> duckdb.DuckDBPyConnection:
    return connect_in_memory(scratch, {"threads": "1"})


def _target(wanted: str, place: Path) -> str:
    """A target's name for one attempt: another one must not write over its file."""
    return str(place / f"{Path(wanted).stem}_{attempt_id(str(place))}.parquet")


def _rewrite_files(
    connection: duckdb.DuckDBPyConnection, unit: Mapping[str, Any]
) -> list[dict[str, Any]]:
    _load_keys(connection, unit)
    sources = [file["source"] for file in unit["files"]]
    counted = _digests(connection, unit, sources, with_keys=True)
    done = []
    for file in unit["files"]:
        before, gone = counted.get(file["source"], (_NONE, _NONE))
        found = {"before": before, "gone": gone, "file": None, "name": Path(file["target"]).name}
        if "values" in unit:
            found["made"] = _digest_of_made(connection, unit, file["source"])
        if before["rows"] > gone["rows"] or "values" in unit:
            found["file"] = _write(connection, unit, file)
        done.append(found)
    targets = [f["target"] for f, d in zip(unit["files"], done, strict=True) if d["file"]]
    if targets:
        written = _digests(connection, unit, targets, with_keys=False)
        for file, found in zip(unit["files"], done, strict=True):
            found["after"], _ = written.get(file["target"], (_NONE, _NONE))
        _write_filters(connection, unit, done)
    return done


def _quote(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _load_keys(connection: duckdb.DuckDBPyConnection, unit: Mapping[str, Any]) -> None:
    keys = exp.select(
        *[
            exp.alias_(exp.maybe_parse(sql, dialect=DIALECT), _quote(name))
            for name, sql in unit["casts"].items()
        ]
    ).distinct()
    create = exp.Create(
        this=exp.to_table(_KEYS), kind="TABLE", expression=keys.from_(_files(unit["keys"]))
    )
    connection.execute(create.sql(dialect=DIALECT)).fetchall()


def _files(paths: Iterable[str], name_as: str | None = None) -> exp.Table:
    """The rows of Parquet files, with the name of each row's file if a name for that is given."""
    arguments: list[exp.Expr] = [exp.Array(expressions=[exp.Literal.string(p) for p in paths])]
    if name_as is not None:
        column = exp.column("filename")
        arguments.append(exp.EQ(this=column, expression=exp.Literal.string(name_as)))
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=arguments))


def _join_keys(rows: exp.Select, unit: Mapping[str, Any], kind: str) -> exp.Select:
    same = [
        exp.EQ(this=exp.column(_quote(k), table="p"), expression=exp.column(_quote(k), table="k"))
        for k in unit["casts"]
    ]
    keys = exp.alias_(exp.to_table(_KEYS), "k", table=True)
    return rows.join(keys, on=exp.and_(*same), join_type=kind)


def _changed_rows(unit: Mapping[str, Any], source: exp.Expr, *, only: bool) -> exp.Select:
    """The rows of a source with other values where they are to be changed; ``only`` those rows."""
    first = exp.column(_quote(next(iter(unit["casts"]))), table="k")
    where = exp.maybe_parse(unit["applies"], dialect=DIALECT)
    changes = exp.and_(exp.not_(exp.Is(this=first, expression=exp.null())), where)
    replaced = [
        exp.alias_(
            exp.Case()
            .when(changes.copy(), exp.maybe_parse(sql, dialect=DIALECT))
            .else_(exp.column(_quote(name), table="p")),
            _quote(name),
        )
        for name, sql in unit["values"].items()
    ]
    every = exp.Column(this=exp.Star(replace=replaced), table=exp.to_identifier("p"))
    rows = _join_keys(exp.select(every).from_(source), unit, "left")
    return rows.where(changes) if only else rows


def _digest_of_made(
    connection: duckdb.DuckDBPyConnection, unit: Mapping[str, Any], path: str
) -> dict[str, Any]:
    """The rows of a file that are changed, as they are then."""
    source = exp.alias_(_files([path]), "p", table=True)
    made = _changed_rows(unit, source, only=True).subquery("r")
    query = exp.select(*_sums(unit, exp.true())).from_(made)
    (row,) = connection.execute(query.sql(dialect=DIALECT)).fetchall()
    return _digest(*row)


def _sums(unit: Mapping[str, Any], of: exp.Expr) -> list[exp.Expr]:
    """Of rows ``r`` that meet a condition, the number of each kind, and a sum of their hashes."""
    start, end = (exp.column(_quote(unit[n]), table="r") for n in ("version", "subsequent"))
    opened = exp.Is(this=end, expression=exp.null())
    tombstone = exp.EQ(this=end.copy(), expression=start)
    whole = row_hash(unit["fields"], [start.copy(), end.copy()], "r")
    total = exp.Sum(this=exp.cast(whole, "HUGEINT", dialect=DIALECT))
    counts = [_where(exp.Count(this=exp.Star()), exp.and_(of, k)) for k in (opened, tombstone)]
    return [*counts, _where(exp.Count(this=exp.Star()), of), _where(total, of)]


def _digests(
    connection: duckdb.DuckDBPyConnection,
    unit: Mapping[str, Any],
    paths: Sequence[str],
    *,
    with_keys: bool,
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """For each file, of all its rows and of those of the keys: the number of each kind, and a sum
    over the hashes of whole rows that no order changes. One pass over the files.
    """
    taken = [unit["version"], unit["subsequent"], *(name for name, _ in unit["fields"])]
    name_as, gone = _unused("of_file", taken), exp.column(_quote(_unused(_GONE, taken)), table="r")
    source = exp.alias_(_files(paths, name_as), "p", table=True)
    is_gone: exp.Expr = exp.false()
    rows = exp.select("p.*").from_(source)
    if with_keys:
        rows = _join_keys(rows, unit, "left")
        first = exp.column(_quote(next(iter(unit["casts"]))), table="k")
        is_gone = exp.not_(exp.Is(this=first, expression=exp.null()))
        if "applies" in unit:
            is_gone = exp.and_(is_gone, exp.maybe_parse(unit["applies"], dialect=DIALECT))
    rows = rows.select(exp.alias_(is_gone, gone.this))
    outputs = [*_sums(unit, exp.true()), *_sums(unit, gone)]
    file = exp.column(_quote(name_as), table="r")
    query = exp.select(file, *outputs).from_(rows.subquery("r")).group_by(file.copy())
    found = connection.execute(query.sql(dialect=DIALECT)).fetchall()
    return {row[0]: (_digest(*row[1:5]), _digest(*row[5:9])) for row in found}


def _where(aggregate: exp.Expr, condition: exp.Expr) -> exp.Filter:
    return exp.Filter(this=aggregate.copy(), expression=exp.Where(this=condition.copy()))


def _unused(name: str, taken: Iterable[str]) -> str:
    folded = {t.casefold() for t in taken}
    while name in folded:
        name += "_"
    return name


def _digest(opens: int, tombstones: int, rows: int, total: Any) -> dict[str, Any]:
    return {
        "rows": rows,
        "open": opens,
        "closing": rows - opens - tombstones,
        "tombstone": tombstones,
        "digest": str(int(total or 0)),
    }


def _write(
    connection: duckdb.DuckDBPyConnection, unit: Mapping[str, Any], file: Mapping[str, str]
) -> dict[str, Any]:
    options = {"FORMAT": "parquet", "RETURN_STATS": "true", **unit["options"]}
    source = exp.alias_(_files([file["source"]]), "p", table=True)
    if "values" in unit:
        rows = _changed_rows(unit, source, only=False)
    else:
        rows = _join_keys(exp.select("p.*").from_(source), unit, "anti")
    copy = exp.Copy(
        this=exp.Subquery(this=rows),
        kind=False,
        files=[exp.Literal.string(file["target"])],
        params=[
            exp.CopyParameter(this=exp.var(name), expression=exp.Literal.string(value))
            for name, value in options.items()
        ],
    )
    (row,) = connection.execute(copy.sql(dialect=DIALECT)).fetchall()
    path = Path(file["target"])
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
    low = high = None
    if unit["bounded"] is not None:
        stats = (row[4] or {}).get(_quote(unit["bounded"]).sql(dialect=DIALECT), {})
        if "min" in stats and "max" in stats:
            low, high = int(stats["min"]), int(stats["max"])
    return {
        "bytes": int(row[2]),
        "rows": int(row[1]),
        "checksum": checksum(path),
        "key_low": low,
        "key_high": high,
    }


def _write_filters(
    connection: duckdb.DuckDBPyConnection,
    unit: Mapping[str, Any],
    done: Sequence[Mapping[str, Any]],
) -> None:
    """The filters of the new files, as a part of the sidecar of their folder."""
    if not unit["filters"]:
        return
    builder = FilterBuilder(parse_descriptor(unit["filters"]), tuple(unit["casts"]))
    written = {name for name, _ in unit["fields"]}
    folders: dict[Path, dict[str, FileFilters]] = {}
    for file, found in zip(unit["files"], done, strict=True):
        if found["file"] is None:
            continue
        path = Path(file["target"])
        fresh = builder.fresh(SegmentFile(path.name, **found["file"]))
        columns = [c for c in fresh.columns if c in written]
        if not columns:
            continue

        def rows(columns: Sequence[str], path: Path = path) -> pa.RecordBatchReader:
            query = exp.select(*[exp.column(_quote(c)) for c in columns])
            query = query.from_(_files([str(path)]))
            return connection.sql(query.sql(dialect=DIALECT)).to_arrow_reader(BATCH_ROWS)

        take_in(fresh, path, columns, rows)
        folders.setdefault(path.parent, {})[path.name] = fresh.finish()
    for folder, filters in folders.items():
        write_sidecar(folder, filters, uuid.uuid4().hex[:8])
