"""Maps errors of the operating system and of drivers to errors of the project.

A full disk, a permission that is lacking and a folder that vanished may show anywhere. Whoever
expects one says what it means; what nobody expected is given its code here. Swallows nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from journal.model.errors import Code, PalimpsestError

NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""What the system says where there is no room, or nothing may be written."""
_DRIVERS: dict[type[Exception], Callable[[Exception], PalimpsestError]] = {}


def translates(kind: type[Exception], translate: Callable[[Exception], PalimpsestError]) -> None:
    """Let an adapter, when it is loaded, say what its driver's exceptions stand for."""
    _DRIVERS[kind] = translate


def coded(error: BaseException) -> PalimpsestError | None:
    """The error of the project that an exception stands for; None where it is a defect of ours."""
    if isinstance(error, PalimpsestError):
        return error
    if isinstance(error, OSError):
        return file_error(error)
    if isinstance(error, UnicodeEncodeError):
        half = error.object[error.start]
        return PalimpsestError(
            Code.DATA,
            f"{half!r} is half of a surrogate pair, and no character of a text",
            advice="write characters beyond U+FFFF whole",
        )
    return next((say(error) for kind, say in _DRIVERS.items() if isinstance(error, kind)), None)


def policy_error(message: str, advice: str) -> PalimpsestError:
    """POLICY: what a policy cannot say, and what it may."""
    return PalimpsestError(Code.POLICY, message, advice=advice)


@contextmanager
def failures() -> Iterator[None]:
    """What the system and drivers raise leaves the block as errors of the project.

    A pipe that nobody reads any more is left to whoever writes into it.
    """
    try:
        yield
    except (PalimpsestError, BrokenPipeError):
        raise
    except Exception as error:
        found = coded(error)
        if found is None:
            raise
        raise found from error


def file_error(error: OSError) -> PalimpsestError:
    """A file that could not be written for want of room, or not be used at all."""
    said = error.strerror or str(error) or type(error).__name__
    name = error.filename
    place = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else None
    if error.errno in NOT_WRITTEN:
        return PalimpsestError(
            Code.STORE_WRITE,
            f"cannot write {place}: {said}" if place else f"a file could not be written: {said}",
            advice="free space or fix permissions, then repeat",
        )
    return PalimpsestError(
        Code.FILE_ACCESS,
        f"cannot use {place}: {said}" if place else f"a file cannot be used: {said}",
        advice="check that the path is still there, and its permissions; then repeat",
    )
