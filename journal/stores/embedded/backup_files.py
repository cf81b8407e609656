"""The pieces of a warehouse as files of copies: its ``BackupTransport``. They are files already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from journal.files.filters.sidecar import FileFilters, read_sidecar
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Segment, SegmentFile
from journal.records.backups import Backup
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.scratch_folders import scratch_folder
from journal.stores.embedded.table_lock import job_turn


@dataclass(frozen=True, slots=True)
class WarehouseTransport:
    """How files of one table of a warehouse are copied and come back."""

    journal: Journal
    table: Table
    kind: str = "warehouse"

    @property
    def root(self) -> Path:
        """The folder of the warehouse."""
        return self.journal.root

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The lock of jobs that replace segments of the table."""
        with job_turn(self.journal, self.table.id):
            yield

    @contextmanager
    def file(self, segment: Segment, file: SegmentFile) -> Iterator[tuple[Path, SegmentFile]]:
        """The file itself; raises SEGMENT_DAMAGED if it is not what the manifest says."""
        yield self.journal.checker.check_again(file), file

    def filters(self, names: Mapping[str, str]) -> dict[str, FileFilters]:
        """Those that lie beside the files."""
        found: dict[str, FileFilters] = {}
        for folder in {path.rpartition("/")[0] for path in names}:
            for name, columns in read_sidecar(self.root / folder).items():
                copied = names.get(f"{folder}/{name}")
                if copied is not None:
                    found[copied] = columns
        return found

    @contextmanager
    def landing(self) -> Iterator[Path]:
        """A folder of the warehouse that nothing lists."""
        folder = self.journal.warehouse.new_folder(self.table)
        with scratch_folder(self.journal, folder):
            yield self.root / folder

    @contextmanager
    def load(self, backup: Backup, paths: Mapping[str, Path]) -> Iterator[Backup]:
        """The backup of the files as they lie in the landing."""
        yield backup.renamed({p: str(path.relative_to(self.root)) for p, path in paths.items()})
