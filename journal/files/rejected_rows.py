"""The file with the rows of a load that no column could take: CSV that its owner alone reads.

Whoever writes one, or takes rows out of one, has it locked. It appears empty, so that it is on
record before it has rows, and is never written over. Knows no store.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from journal.local_engine.file_modes import write_private
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_HEADER = ("line", "column", "value", "reason", "row")


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row of a file: the line where it begins, from one, and the first value that is wrong.

    ``reason`` repeats no value. ``text`` is the row as it stands in the file.
    """

    line: int
    column: str
    value: str
    reason: str
    text: str

    def without_values(self) -> RejectedRow:
        """Where the row is and what is wrong, and nothing that stands in it."""
        return RejectedRow(self.line, self.column, "", self.reason, "")


@contextmanager
def new_reject_file(path: Path) -> Iterator[Callable[[Iterable[RejectedRow]], None]]:
    """Make an empty file, which is locked until the block ends; gives what writes its rows.

    Raises FILE_ACCESS where none can be made, or where there is a file already.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the reject file {path} is there already",
            advice="name another one; no file is written over",
        ) from error
    except OSError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the reject file {path} cannot be made: {error.strerror}",
            advice="name a file in a folder that exists and can be written",
        ) from error
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        def write(rows: Iterable[RejectedRow]) -> None:
            file.write(_text(rows))
            file.flush()
            os.fsync(file.fileno())

        yield write


def is_reject_file(path: Path) -> bool:
    """True where a reject file lies; one that was not written yet is one, too."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.readline() in {"", _text(())}
    except (OSError, UnicodeDecodeError):
        return False


def remove_reject_file(path: Path) -> None:
    """Remove a reject file; raises JOB_BUSY while a load writes it."""
    with _locked(path):
        path.unlink(missing_ok=True)


def remove_rows_naming(
    path: Path, identifiers: Sequence[str], spellings: Sequence[str] = ()
) -> tuple[int, int]:
    """Take the rows out that hold an identifier; how many these were, and how many are left.

    The case of letters does not count, nor what stands around an identifier, for whoever reads the
    file sees all of the row. A number is not found within a longer one. ``spellings``
    are regular expressions that spellings of somebody have in them. A file without rows is
    removed. Raises JOB_BUSY while a load writes the file.
    """
    with _locked(path) as file:
        rows = [RejectedRow(int(line), *others) for line, *others in list(csv.reader(file))[1:]]
        texts = [_searched(r) for r in rows]
        known = "\n".join(texts)
        patterns = [*map(_pattern, identifiers), *map(re.compile, spellings)]
        found = [p for p in patterns if p.search(known)]
        kept = [r for r, t in zip(rows, texts, strict=True) if not any(p.search(t) for p in found)]
        if not kept:
            path.unlink()
        elif len(kept) < len(rows):
            write_private(path, _text(kept).encode())
    return len(rows) - len(kept), len(kept)


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PalimpsestError(
                Code.JOB_BUSY,
                f"a load still writes the reject file {path}",
                advice="try again when it has ended",
            ) from error
        yield file


def _pattern(identifier: str) -> re.Pattern[str]:
    text = identifier.strip().casefold()
    if text.isascii() and text.isdigit():
        return re.compile(f"(?<![0-9])0*{text.lstrip('0') or '0'}(?![0-9])")
    return re.compile(re.escape(text))


def _searched(row: RejectedRow) -> str:
    """All that a row shows, with quotes as they stand and as they are meant."""
    return "\n".join((row.text, row.value, row.text.replace('""', '"'))).casefold()


def _text(rows: Iterable[RejectedRow]) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows((r.line, r.column, r.value, r.reason, r.text) for r in rows)
    return made.getvalue()
