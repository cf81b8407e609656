"""The purge: rewrites the files that hold rows of erased keys, without these rows.

One job serves every accepted request of its table: their keys together are the small side that each
unit is given, one file a unit, wherever Spark has room. Files that no key is in are neither read
nor written. Owner's side; loads no pyspark.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from journal.erasure.column_changes import Changes, hash_key_of
from journal.identity.descriptor import filtered_of
from journal.local_engine import layout
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import RowCounts, Segment, SegmentFile
from journal.model.version import Version
from journal.records.report import ESTIMATED, ReplacedSegment, Skipped, Volume, Work
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.warehouse import bounded_key, parquet_options
from journal.transactions.state import TableState
from spark_compaction.backend import Replan
from spark_compaction.backends.embedded_erasure.key_matches import (
    Holdings,
    KeyMatch,
    applies,
    holdings,
    key_casts,
    values,
)
from spark_compaction.contract import Engine, JobPlan, Progress, Replacement, Staged
from spark_compaction.engines.local import LocalEngine
from spark_compaction.erasure.legal_holds import definition

REWRITE = "journal.stores.embedded.file_rewrite:rewrite_without"
UNIT_BYTES = 16_000_000
"""Small files share a unit up to so many bytes: what starting one costs is paid once."""
NONE_FOUND = "searched, holds none of the keys"
_WHOLE_FOLDER = frozenset({"ROW_GROUPS_PER_FILE", "FILENAME_PATTERN"})


@dataclass(frozen=True, slots=True)
class PurgeJob:
    """Removes the rows of the keys in ``masks`` from the live segments of a table.

    Of all files, or of those ``only`` that have these paths.
    """

    masks: tuple[str, ...]
    changes: Changes | None = None
    only: frozenset[str] | None = None
    kind: str = "purge"

    def plan(self, journal: Journal, table_id: int, settled: Version) -> JobPlan:
        """Which files hold the keys, exactly; heads are sealed, and have been searched as well."""
        state = journal.state.tables[table_id]
        table = definition(journal.state, table_id)
        with journal.reading_session() as session:
            manifest = state.manifest
            segments, heads = manifest.segments, manifest.heads
            if self.only is not None:
                segments, heads = tuple(with_files(manifest.segments, self.only)), ()
            found = holdings(
                *(session, journal.root, table, segments, self.masks, heads), self.changes
            )
        nothing = JobPlan(self.kind, table_id, str(table.name), manifest.generation, is_empty=True)
        work = planned_work(found)
        if not found.held:
            why = "no live file holds rows of the keys"
            return replace(nothing, why=why, skipped=work.skipped)
        folder = new_folder(journal, found.held[0].file)
        units = [
            unit_of(
                *(journal, table, state, held, self.masks),
                *(f"{folder}/part_{n}.parquet", self.changes),
            )
            for n, held in enumerate(found.held)
        ]
        return replace(
            nothing,
            is_empty=False,
            why="rows were erased",
            taken=work.taken,
            written=work.written,
            inexact=work.inexact,
            skipped=work.skipped,
            inputs=tuple(h.file.path for h in found.held),
            folders=(folder,),
            task={"units": units},
            details={"versions": found.counts.total},
        )

    def stage(self, journal: Journal, plan: JobPlan, engine: Engine, progress: Progress) -> Staged:
        """Write each file anew."""
        units = plan.task["units"]
        results = rewrite(engine, units, progress)
        live = journal.state.tables[plan.table_id].manifest.segments
        replacement = replaced_files(live, units, results)
        new = [f for s in replacement.new() for f in s.files]
        moved = moved_files(units, results)
        details = {"digests": digests(results)}
        return Staged(replacement, volume(new), details, moved=moved)

    def verify(self, journal: Journal, plan: JobPlan, staged: Staged) -> Mapping[str, Any]:
        """Everything but the erased rows is there: as many of each kind, with the same sum."""
        found = staged.details["digests"]
        check_digests(found, plan.table)
        return {"others": found["after"]}


def with_files(segments: Iterable[Segment], paths: Container[str]) -> Iterator[Segment]:
    """Segments with those of their files that have some paths."""
    for segment in segments:
        files = tuple(f for f in segment.files if f.path in paths)
        if files:
            yield replace(segment, files=files)


def rewrite(engine: Engine | None, files: Sequence[Any], progress: Progress) -> list[Any]:
    """Rewrite files; units tell the engine how many bytes they are."""
    chosen = engine or LocalEngine()
    units = [
        {**some[0]["like"], "files": _paths(some), "bytes": sum(file["bytes"] for file in some)}
        for some in _batches(files)
    ]
    return [result for unit in chosen.map(REWRITE, units, progress) for result in unit]


def _batches(files: Sequence[Any]) -> list[list[Any]]:
    """The files, in order, as units of work: of one kind each, and of about ``UNIT_BYTES``."""
    found: list[list[Any]] = []
    size = 0
    for file in files:
        if not found or found[-1][0]["like"] != file["like"] or size + file["bytes"] > UNIT_BYTES:
            found.append([])
            size = 0
        found[-1].append(file)
        size += file["bytes"]
    return found


def _paths(files: Sequence[Any]) -> list[dict[str, str]]:
    return [{"source": f["source"], "target": f["target"]} for f in files]


def volume(files: Iterable[SegmentFile]) -> Volume:
    """How much some files are."""
    return sum((Volume(1, f.rows, f.bytes) for f in files), Volume())


def new_folder(journal: Journal, beside: SegmentFile) -> str:
    """A fresh folder in the journal's folder, relative to the warehouse."""
    return str(PurePosixPath(beside.path).parent.with_name(journal.new_segment_id()))


def unit_of(
    journal: Journal,
    table: Table,
    state: TableState,
    held: KeyMatch,
    masks: Sequence[str],
    target: str,
    changes: Changes | None = None,
) -> dict[str, Any]:
    """What rewriting one file needs to know."""
    fields = held.segment.fields
    shape = next((t for t in state.layouts if layout.fields_of(t) == fields), table)
    options = {k: v for k, v in parquet_options(shape).items() if k not in _WHOLE_FOLDER}
    casts = key_casts(table, fields)
    like = {
        "keys": [str(journal.root / mask) for mask in masks],
        "casts": {name: value.sql(dialect="duckdb") for name, value in casts.items()},
        "version": table.format.version_column,
        "subsequent": table.format.subsequent_column,
        "options": options,
        "bounded": bounded_key(shape),
        "fields": [list(field) for field in fields],
        "filters": ", ".join(str(i) for i in filtered_of(table)),
    }
    if changes is not None:
        found = values(changes, fields)
        like["values"] = {name: value.sql(dialect="duckdb") for name, value in found.items()}
        where = applies(changes, fields, sealed=True)
        like["applies"] = where.sql(dialect="duckdb")
        like["hash_key"] = hash_key_of(journal.read_secret())
    return {
        "source": str(journal.root / held.file.path),
        "target": str(journal.root / target),
        "bytes": held.file.bytes,
        "path": held.file.path,
        "new_path": target,
        "like": like,
    }


def replaced_files(
    segments: Iterable[Segment], units: Sequence[Any], results: Sequence[Any]
) -> Replacement:
    """The segments of the files that were rewritten, with the new files in their places."""
    done = {unit["path"]: (unit, result) for unit, result in zip(units, results, strict=True)}
    segments = tuple(segments)
    if not set(done) <= {f.path for s in segments for f in s.files}:
        raise Replan("files that were to be rewritten are not listed any more")
    removed: list[Segment] = []
    added: list[Segment] = []
    for segment in segments:
        if not any(f.path in done for f in segment.files):
            continue
        removed.append(segment)
        files: list[SegmentFile] = []
        counts = segment.counts
        for file in segment.files:
            if file.path not in done:
                files.append(file)
                continue
            unit, result = done[file.path]
            if not result.get("made"):
                gone = result["gone"]
                counts = counts + RowCounts(-gone["open"], -gone["closing"], -gone["tombstone"])
            new = _new_file(unit, result)
            if new is not None:
                files.append(new)
        if files:
            added.append(replace(segment, files=tuple(files), counts=counts))
    return Replacement(tuple(removed), tuple(added))


def moved_files(units: Sequence[Any], results: Sequence[Any]) -> dict[str, SegmentFile | None]:
    """What became of each file that was rewritten."""
    return {u["path"]: _new_file(u, r) for u, r in zip(units, results, strict=True)}


def _new_file(unit: Mapping[str, Any], result: Mapping[str, Any]) -> SegmentFile | None:
    """The file that was written for one; None if nothing is left of it."""
    if result["file"] is None:
        return None
    path = PurePosixPath(unit["new_path"]).with_name(result["name"])
    return SegmentFile(path=str(path), **result["file"])


def digests(results: Sequence[Any]) -> dict[str, Any]:
    """Sums over all rewritten files: what they held, what went, what the new files hold."""
    names = ("rows", "open", "closing", "tombstone", "digest")
    none = dict.fromkeys(names, 0)
    return {
        part: {n: str(sum(int((r.get(part) or none)[n]) for r in results)) for n in names}
        for part in ("before", "gone", "made", "after")
    }


def check_digests(found: Mapping[str, Any], table: str) -> None:
    """Raise JOB_VERIFICATION unless what is left is what was there less what went.

    With what stands in its place where values were changed.
    """
    for name, whole in found["before"].items():
        left = int(whole) - int(found["gone"][name]) + int(found["made"][name])
        if left != int(found["after"][name]):
            raise PalimpsestError(
                Code.JOB_VERIFICATION,
                f"the rewritten files of {table} do not hold what they should: {name} differs",
                advice="nothing was changed; run `palimpsest verify`, then the purge again",
            )


def planned_work(found: Holdings) -> Work:
    """What rewriting the files that hold rows of the keys comes to."""
    rows: dict[str, int] = {}
    files: dict[str, Volume] = {}
    for held in found.held:
        name = held.segment.id
        rows[name] = rows.get(name, 0) + held.counts.total
        files[name] = files.get(name, Volume()) + volume([held.file])
    taken = tuple(
        ReplacedSegment(name, v.files, v.rows, v.bytes, f"holds {rows[name]} rows of the keys")
        for name, v in files.items()
    )
    left = [(h.file, h.file.rows - (0 if found.stays else h.counts.total)) for h in found.held]
    written = Volume(
        sum(rows > 0 for _, rows in left),
        sum(rows for _, rows in left),
        sum(f.bytes * rows // max(1, f.rows) for f, rows in left),
    )
    inexact = dict.fromkeys(("written.bytes", "removed.bytes"), ESTIMATED)
    return Work(taken, written, _skipped(found), inexact)


def _skipped(found: Holdings) -> tuple[Skipped, ...]:
    rewritten = {h.file.path for h in found.held}
    searched = sum(f.path not in rewritten for f in found.searched)
    return tuple(
        Skipped("", files, why)
        for files, why in (
            (len(found.skipped), "filters and key bounds exclude the keys"),
            (searched, NONE_FOUND),
        )
        if files
    )
