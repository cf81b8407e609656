"""The warehouse directory: where files lie, and their names.

    <root>/palimpsest.duckdb                                  catalog, heads, views
    <root>/<schema>/<table>_journal/<segment>/part_<n>.parquet  sealed segments
    <root>/<schema>/<table>_journal/<segment>/filters.bloom     their filters, if the table has any

Paths in manifests are relative to the root, so a warehouse can be moved. Writes segment files;
lists nothing in a manifest.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from journal.files.parquet_files import copy_parquet
from journal.files.staging import OPEN, attempt, attempt_id
from journal.local_engine.file_modes import FileModes, make_folders, modes_of
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.places import safe_name
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import SIDECAR, SegmentFile
from journal.model.store_session import Parameters
from journal.stores.embedded.file_names import DATABASE_FILE
from journal.stores.embedded.finishing import finish_files

_ROW_GROUP_ROWS = 61_440
_ROW_GROUPS_PER_FILE = 16
ROWS_PER_FILE = _ROW_GROUP_ROWS * _ROW_GROUPS_PER_FILE
PARQUET_OPTIONS = {
    "COMPRESSION": "lz4_raw",
    "ROW_GROUP_SIZE": str(_ROW_GROUP_ROWS),
    "ROW_GROUPS_PER_FILE": str(_ROW_GROUPS_PER_FILE),
    "FILENAME_PATTERN": "part_{i}",
}
"""Files of about a million rows in row groups of half the size that DuckDB takes by itself.

Look-ups by key gain, and scans lose nothing. With groups half as large as these look-ups gain no
more, and columns of some thousand different values are no longer worth a dictionary: counting those
took 1.3 times as long as in a plain file.
"""

_COMPACT = {"PARQUET_VERSION": "v2"}
"""Delta encodings: a sorted key is decoded three times as fast, and files are a third smaller."""

# The second version writes these as BYTE_STREAM_SPLIT, which Spark's vectorized reader refuses.
_FLOATS = ("FLOAT", "DOUBLE", "REAL")


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A warehouse's root, and where names of new segments come from."""

    root: Path
    new_id: Callable[[], str]

    @property
    def modes(self) -> FileModes:
        """The modes that new folders and files get."""
        return modes_of(self.root / DATABASE_FILE)

    def write_segment(
        self, session: DuckDBSession, table: Table, query: Query, parameters: Parameters
    ) -> tuple[SegmentFile, ...]:
        """Write rows as the files of one new, unlisted segment."""
        folder = self.new_folder(table)
        options = parquet_options(table)
        return self._write(session, table, query, parameters, folder, options, None)

    def new_folder(self, table: Table) -> str:
        """A folder for a new segment, relative to the root; not made yet."""
        return (
            f"{safe_name(table.name.schema)}/{safe_name(table.journal_name.name)}/{self.new_id()}"
        )

    def write_into(
        self, session: DuckDBSession, table: Table, query: Query, folder: str, rows: int, each: int
    ) -> tuple[SegmentFile, ...]:
        """Write ``rows`` rows into a folder that is open, as files of about ``each`` rows.

        Names are never used twice, so that one attempt does not write over another one's files.
        """
        count = max(1, round(rows / each))
        groups = max(1, -(-rows // (count * _ROW_GROUP_ROWS)))
        with attempt(self.root, folder) as place:
            part = attempt_id(place)
            options = parquet_options(table) | {
                "ROW_GROUPS_PER_FILE": str(groups),
                "FILENAME_PATTERN": f"part_{part}_{{i}}",
                "OVERWRITE_OR_IGNORE": "true",
            }
            files = self._write(session, table, query, {}, place, options, part)
        return tuple(replace(f, path=f"{folder}/{Path(f.path).name}") for f in files)

    def _write(
        self,
        session: DuckDBSession,
        table: Table,
        query: Query,
        parameters: Parameters,
        folder: str,
        options: Mapping[str, str],
        part: str | None,
    ) -> tuple[SegmentFile, ...]:
        key = bounded_key(table)
        try:
            if part is None:  # Where an attempt writes the owner alone makes folders.
                make_folders(self.root, folder, self.modes)
            files = copy_parquet(session, query, parameters, self.root, folder, options, key)
            return finish_files(session, table, self.root, folder, files, part)
        except (PalimpsestError, OSError) as error:
            shutil.rmtree(self.root / folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise PalimpsestError(
                    Code.STORE_WRITE,
                    f"cannot write {folder}: {error.strerror or error}",
                    advice="free space or fix permissions, then repeat; nothing was changed",
                ) from error
            raise

    def remove(self, file: SegmentFile) -> None:
        """Remove an unlisted file and its folder."""
        shutil.rmtree((self.root / file.path).parent, ignore_errors=True)

    def remove_files(self, files: Iterable[SegmentFile]) -> None:
        """Remove files that nothing lists, and folders whose last ones they were.

        What is left of a folder has its filters written anew, once: they may be large.
        """
        folders: dict[Path, list[str]] = {}
        for file in files:
            path = self.root / file.path
            path.unlink(missing_ok=True)
            folders.setdefault(path.parent, []).append(path.name)
        for folder, names in folders.items():
            if folder.is_dir() and not any(folder.glob("*.parquet*")):
                shutil.rmtree(folder, ignore_errors=True)
            elif (folder / SIDECAR).exists():
                from journal.files.filters.sidecar import drop_from_sidecar

                drop_from_sidecar(folder, names)

    @staticmethod
    def segment_id(path: str) -> str:
        """The segment a file belongs to: the name of its folder."""
        return Path(path).parent.name

    def files(self) -> Iterator[str]:
        """Every segment file on disk, listed or not, relative to the root."""
        found = [*self.root.glob("*/*/*/*.parquet*"), *self.root.glob(f"*/*/*/{OPEN}/*/*")]
        for path in sorted(found):
            yield str(path.relative_to(self.root))


def parquet_options(table: Table) -> dict[str, str]:
    """How segments of a table are written."""
    floats = any(name in c.type.upper() for c in table.stored for name in _FLOATS)
    return PARQUET_OPTIONS if floats else PARQUET_OPTIONS | _COMPACT


def bounded_key(table: Table) -> str | None:
    """The first key column, if files record its bounds: integers only."""
    stored = table.by_physical(table.key[0])
    return stored.physical if stored.type.upper() in _INTEGERS else None


_INTEGERS = frozenset(
    "TINYINT SMALLINT INT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT".split()
)
