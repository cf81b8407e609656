"""Files of anchors of the audit log: lines read, added and committed to git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from journal.erasure.audit_anchor import Anchor, read_anchors
from journal.model.errors import Code, PalimpsestError


def anchors_in(path: Path) -> list[Anchor]:
    """The anchors of a file; none if there is no file yet. Raises FILE_ACCESS."""
    try:
        return read_anchors(path.read_text(), str(path))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise not_accessible(path, "read", error) from error


def add_anchor(path: Path, anchor: Anchor) -> None:
    """Add a line to a file and wait until it is on disk. Raises FILE_ACCESS."""
    try:
        with path.open("a") as file:
            file.write(anchor.line() + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise not_accessible(path, "written", error) from error


def commit_file(path: Path, message: str) -> str:
    """Commit a file to the git repository that its folder is in; the commit. Raises FILE_ACCESS."""
    _git(path, "add", "--", path.name)
    _git(path, "commit", "--quiet", "--message", message, "--", path.name)
    return _git(path, "rev-parse", "--short", "HEAD")


def _git(path: Path, *words: str) -> str:
    """What git prints, in the folder of a file; raises FILE_ACCESS with what it complains of."""
    command = ["git", "-C", str(path.resolve().parent), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    except FileNotFoundError as error:
        raise _not_committed(path, "git is not installed") from error
    except subprocess.CalledProcessError as error:
        raise _not_committed(path, (error.stderr or error.stdout).strip()) from error
    return done.stdout.strip()


def _not_committed(path: Path, reason: str) -> PalimpsestError:
    return PalimpsestError(
        Code.FILE_ACCESS,
        f"the anchor was written to {path}, and cannot be committed: {reason}",
        advice="make the folder a git repository (git init), or anchor without --git",
    )


def not_accessible(path: Path, what: str, error: Exception) -> PalimpsestError:
    """The error of a file that cannot be read or written."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return PalimpsestError(
        Code.FILE_ACCESS,
        f"{path} cannot be {what}: {reason}",
        advice="name a file that you may read and write",
    )
