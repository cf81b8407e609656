"""Files under URLs of other file systems: the only module that imports fsspec.

A place is a path of this machine or a URL of any file system that fsspec knows (``s3://``,
``webhdfs://``, ``sftp://``, ``file://``). What begins like a URL is one: an unknown scheme is
refused, never taken for a folder of that name. Credentials come from the environment or fsspec's
own configuration; neither they nor what a file system says of a failure get into a message. What
is written appears whole or not at all. Decides nothing about what is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from journal.files import client_timeouts
from journal.local_engine.file_modes import OWNER, configured, make_folder, set_mode, write_private
from journal.local_engine.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import NOT_WRITTEN, file_error
from journal.model.places import (
    HADOOP,
    WHOLE_OBJECTS,
    bare,
    is_elsewhere,
    local_path,
    scheme_of,
    shown_place,
    why_no_place,
)

_KEEPS_PARTS = frozenset({"s3", "s3a"})
_UPLOADS_ROUNDS_MAX = 100
"""A listing names a thousand."""
_CREDENTIALS = ("Credential", "TokenRetrieval", "Unauthorized", "Authentication", "Forbidden")
_UNREACHABLE = ("Connect", "Timeout", "Endpoint", "gaierror", "NoRoute", "ServerDisconnected")


@contextmanager
def local_copy_of(place: str) -> Iterator[Path]:
    """A file to read: itself where it is on this machine, else a copy that goes with the block.

    Raises FILE_ACCESS where it cannot be had, DRIVER_MISSING without the package its URL needs.
    """
    if not is_elsewhere(place):
        yield local_path(place)
        return
    with scratch() as here:
        # Its ending says what it is.
        folder, name = _split(place)
        copy = here / name
        Folder(folder).fetch(name, copy)
        yield copy


@contextmanager
def local_file_for(place: str) -> Iterator[Path]:
    """A file to write: itself where it is on this machine, else one that is put there in the end.

    Nothing is there, or what was there before, unless the block ends well. Raises as ``fetched``.
    """
    if not is_elsewhere(place):
        yield local_path(place)
        return
    folder, name = _split(place)
    target = Folder(folder)
    with scratch() as here:
        copy = here / name
        yield copy
        target.put(copy, name)


def _split(place: str) -> tuple[str, str]:
    """The folder of a URL, and the name in it."""
    why = why_no_place(place)
    if why is not None:
        raise _file_error("use", shown_place(place), why)
    scheme, _, rest = place.partition("://")
    folder, _, name = rest.rpartition("/")
    if not name:
        raise _file_error("use", shown_place(place), "it names no file")
    return f"{scheme}://{folder}", name


class Folder:
    """A folder of this machine or elsewhere; files in it are named by paths relative to it."""

    def __init__(self, place: str) -> None:
        self.place = bare(place)
        self._shown = shown_place(self.place)
        self._keeps_whole = scheme_of(place) in WHOLE_OBJECTS
        self._is_away, self._modes = is_elsewhere(place), configured() or OWNER
        self._files, self._root = _file_system(self.place, self._shown)

    def __str__(self) -> str:
        return self._shown

    def fetch(self, name: str, target: Path) -> None:
        """Copy a file of the folder to a path of this machine."""
        draft = target.with_name(f"{target.name}.part")
        path = f"{self._root}/{name}"
        with self._telling("read", name):
            self._files.get_file(path, str(draft))
            # Not every file system tells that a part of it could not be had.
            expected = self._files.info(path)["size"]
        if expected is not None and expected != draft.stat().st_size:
            draft.unlink()
            raise _file_error(
                "read",
                f"{self._shown}/{name}",
                "the file at the destination is shorter than the source",
            )
        draft.replace(target)

    def put(self, source: Path, name: str) -> None:
        """Copy a file of this machine into the folder; it is there as a whole, or not at all."""
        path = f"{self._root}/{name}"
        draft = path if self._keeps_whole else f"{path}.part-{uuid.uuid4().hex[:8]}"
        with self._telling("write", name):
            try:
                if self._keeps_whole:
                    # Folders are names there; making one would make a bucket that is missing.
                    self._files.put_file(str(source), path)
                else:
                    self._make_folder(path.rpartition("/")[0])
                    self._files.put_file(str(source), draft)
                    if not self._is_away:
                        set_mode(Path(draft), self._modes.file)
                    self._rename(draft, path)
                found = self._files.info(path)["size"]
            except BaseException:
                if draft != path:
                    with suppress(Exception):
                        self._files.rm_file(draft)
                raise
        if found != source.stat().st_size:
            raise _file_error(
                "write",
                f"{self._shown}/{name}",
                "the file at the destination is shorter than the source",
            )

    def _make_folder(self, path: str) -> None:
        if self._is_away:
            self._files.makedirs(path, exist_ok=True)
            return
        missing = [f for f in [Path(path), *Path(path).parents] if not f.exists()]
        for folder in reversed(missing):
            make_folder(folder, self._modes)

    def _rename(self, draft: str, path: str) -> None:
        """Give a draft its name, in one step also where another file has it."""
        if scheme_of(self.place) == "webhdfs":
            # Without the option a name that is taken is not an error there, and nothing happens.
            options = {"destination": path, "renameoptions": "OVERWRITE"}
            self._files._call("RENAME", method="put", path=draft, **options)
        else:
            self._files.mv(draft, path)
        self._files.invalidate_cache()
        if self._files.exists(draft):
            raise _file_error("write", f"{self._shown}", "its file system cannot replace a file")

    def read(self, name: str) -> bytes | None:
        """What a small file holds; None if there is none."""
        with self._telling("read", name):
            try:
                found: bytes = self._files.cat_file(f"{self._root}/{name}")
            except FileNotFoundError:
                return None
            return found

    def size(self, name: str) -> int | None:
        """The bytes of a file; None if there is none."""
        with self._telling("read", name):
            self._files.invalidate_cache()
            try:
                return int(self._files.info(f"{self._root}/{name}")["size"])
            except FileNotFoundError:
                return None

    def names(self) -> list[str]:
        """Every file in the folder and in those below it."""
        with self._telling("list", ""):
            self._files.invalidate_cache()
            found = self._files.find(self._root) if self._keeps_whole else self._below(self._root)
            return [str(path).removeprefix(f"{self._root}/") for path in found]

    def _below(self, folder: str) -> list[str]:
        """Every file: fsspec's own search passes over a folder that it cannot list."""
        try:
            entries = self._files.ls(folder, detail=True)
        except FileNotFoundError:
            return []
        found = []
        for entry in sorted(entries, key=lambda e: str(e["name"])):
            name = str(entry["name"]).rstrip("/")
            found += self._below(name) if entry["type"] == "directory" else [name]
        return found

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._telling("remove", name), suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{name}")

    def abandon_uploads(self) -> None:
        """Give up the uploads into the folder that were killed: S3 keeps their parts, unseen."""
        if scheme_of(self.place) not in _KEEPS_PARTS:
            return
        bucket, _, folder = self._root.partition("/")
        with self._telling("remove", "unfinished uploads"):
            for _ in range(_UPLOADS_ROUNDS_MAX):
                found = self._files.call_s3(
                    "list_multipart_uploads", Bucket=bucket, Prefix=f"{folder}/"
                ).get("Uploads", ())
                for upload in found:
                    named = {"Key": upload["Key"], "UploadId": upload["UploadId"]}
                    self._files.call_s3("abort_multipart_upload", Bucket=bucket, **named)
                if not found:
                    return

    @contextmanager
    def _telling(self, verb: str, name: str) -> Iterator[None]:
        place = f"{self._shown}/{name}"
        try:
            yield
        except PalimpsestError:
            raise
        except Exception as error:  # noqa: BLE001 - every file system has errors of its own.
            if isinstance(error, OSError) and (not self._is_away or error.errno in NOT_WRITTEN):
                raise file_error(error) from None
            # Not chained: what a file system says may hold a key or a signed address.
            raise _file_error(verb, place, _reason(error)) from None


def read_file(place: str) -> bytes:
    """What a file holds, wherever it lies."""
    with local_copy_of(place) as path:
        return path.read_bytes()


def write_file(place: str, data: bytes) -> None:
    """Write a file for its owner alone, wherever it is to lie."""
    with local_file_for(place) as path:
        write_private(path, data)


def _file_system(place: str, shown: str) -> tuple[Any, str]:
    """The file system of a folder, and its path there."""
    scheme = scheme_of(place)
    why = why_no_place(place)
    if why is not None:
        raise _file_error("use", shown, why)
    try:
        import fsspec
    except ImportError as error:
        raise _missing("fsspec") from error
    try:
        # Listings are asked anew: others write there as well.
        more = client_timeouts.options(scheme, fsspec.config.conf.get(scheme, {}))
        files, root = fsspec.url_to_fs(place, use_listings_cache=False, **more)
        client_timeouts.set_client_timeouts(scheme, files)
    except PalimpsestError:
        raise
    except ImportError as error:
        raise _missing(scheme) from error
    except Exception as error:  # noqa: BLE001 - what makes a file system is anybody's code.
        if scheme in HADOOP and isinstance(error, OSError) and "lib" in str(error):
            raise _no_native_client(shown) from None
        raise _file_error("use", shown, _reason(error)) from None
    return files, str(root).rstrip("/")


def _reason(error: BaseException) -> str:
    """Why it failed, in words of ours."""
    seen: list[BaseException] = []
    while error is not None and error not in seen and len(seen) < 10:
        seen.append(error)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    names = [c.__name__ for e in seen for c in type(e).__mro__]
    if any(isinstance(e, PermissionError) for e in seen) or _any_matches(names, _CREDENTIALS):
        return "its file system does not accept the credentials, or found none"
    if any(isinstance(e, FileNotFoundError) for e in seen):
        return "there is no such file, folder or bucket"
    if any(isinstance(e, ConnectionError | TimeoutError) for e in seen) or _any_matches(
        names, _UNREACHABLE
    ):
        return "its file system cannot be reached"
    if any(isinstance(e, ValueError) and "rotocol" in str(e) for e in seen):
        return "no file system is known by that name"
    return f"its file system failed with {type(seen[0]).__name__}"


def _any_matches(names: list[str], parts: tuple[str, ...]) -> bool:
    return any(part in name for name in names for part in parts)


def _file_error(verb: str, place: str, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.FILE_ACCESS,
        f"cannot {verb} {place}: {why}",
        advice="check the URL, and the credentials in the environment or fsspec's configuration",
    )


def _no_native_client(place: str) -> PalimpsestError:
    return PalimpsestError(
        Code.DRIVER_MISSING,
        f"{place} needs Hadoop's native client, libhdfs, which was not found",
        advice="write webhdfs://NAMENODE:9870/.. instead, which needs none;"
        " or set HADOOP_HOME, JAVA_HOME and CLASSPATH",
    )


def _missing(name: str) -> PalimpsestError:
    return PalimpsestError(
        Code.DRIVER_MISSING,
        f"files under {name}:// need a package that is not installed"
        if name != "fsspec"
        else "files under a URL, and copies of backups and archives in any folder, need fsspec",
        advice="pip install 'palimpsest-gateway[elsewhere]', or what fsspec asks for it",
    )
