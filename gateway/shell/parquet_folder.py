"""The Parquet files of a folder that becomes a table: which they are, and whether they agree.

Other programs leave further files in such folders. Those of a table format list in a log which
files count, so the folder alone does not say what its rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet as pq

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold

_FORMATS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", "metadata/version-hint.text": "Iceberg"}
_ICEBERG = "metadata/*.metadata.json"
_HIDDEN = ("_", ".")
Leaf = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """The files of a folder, or a single file, and the rows in them together."""

    files: tuple[Path, ...]
    rows: int


def read_parquet_folder(place: Path) -> ParquetFolder:
    """The files of a folder whose columns fit into one table.

    Leaves out what programs hide by a name that begins with ``_`` or ``.``, as Spark and Hive do.
    Raises FILE_ACCESS where there is none or one is no Parquet file, NOT_SUPPORTED for a table
    format, and TYPE_MISMATCH where two files have a column of one name and of different types.
    """
    if not place.exists():
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"there is no file or folder {place}",
            advice="check the spelling; a relative path begins at the folder you are in",
        )
    _refuse_table_formats(place)
    found = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
    files = [f for f in found if not _is_hidden(f.relative_to(place))]
    if not files:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"{place} holds no Parquet files",
            advice="name a file, or a folder with files that end in .parquet",
        )
    rows = 0
    known: dict[str, tuple[tuple[Leaf, ...], Path]] = {}
    for file in files:
        data = _metadata(file)
        rows += data.num_rows
        for name, leaves in _columns(data.schema).items():
            first, where = known.setdefault(fold(name), (leaves, file))
            if first != leaves:
                raise _disagreement(name, (where, first), (file, leaves))
    return ParquetFolder(tuple(files), rows)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(_HIDDEN) for part in path.parts)


def _refuse_table_formats(place: Path) -> None:
    found = next((f for name, f in _FORMATS.items() if (place / name).exists()), None)
    if found is None and any(place.glob(_ICEBERG)):
        found = "Iceberg"
    if found is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{place} is a table of {found}, whose log says which of its files count",
            advice="have a program that reads the format write the current rows to Parquet files in"
            " a folder of their own, and adopt that",
        )


def _metadata(file: Path) -> pq.FileMetaData:
    try:
        return pq.read_metadata(file)
    except pyarrow.ArrowInvalid as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"{file} is no Parquet file, or is damaged: {error}",
            advice="repair it, or move it out of the folder",
        ) from error


def _columns(schema: pq.ParquetSchema) -> dict[str, tuple[Leaf, ...]]:
    """The types that a file stores for each column: one for each field of a nested one."""
    columns: dict[str, list[Leaf]] = {}
    for n in range(len(schema)):
        leaf = schema.column(n)
        name = leaf.path.partition(".")[0]
        kind = (leaf.path, leaf.physical_type, str(leaf.logical_type))
        columns.setdefault(name, []).append(kind)
    return {name: tuple(leaves) for name, leaves in columns.items()}


def _disagreement(
    name: str, first: tuple[Path, Sequence[Leaf]], other: tuple[Path, Sequence[Leaf]]
) -> PalimpsestError:
    (place, leaves), (file, others) = first, other
    return PalimpsestError(
        Code.TYPE_MISMATCH,
        f'the files store the column "{name}" as different types: {_types_text(leaves)} in {place},'
        f" {_types_text(others)} in {file}",
        advice="write the files anew with one type; or make the table with CREATE TABLE, and"
        " `palimpsest import` each file, which casts its values",
    )


def _types_text(leaves: Sequence[Leaf]) -> str:
    """``INT64``, ``BYTE_ARRAY String``; with the paths of fields where there are several."""
    shown = []
    for path, physical, logical in leaves:
        kind = physical if logical == "None" else f"{physical} {logical}"
        shown.append(kind if len(leaves) == 1 else f"{path} {kind}")
    return ", ".join(shown)
