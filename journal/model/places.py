"""Names of places: paths of this machine, and URLs of other file systems.

Tells what a name means and how it may be shown; looks at no file.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from journal.model.errors import Code, PalimpsestError

_LOCAL = frozenset({"file", "local"})
# A drive of Windows is one letter; no folder is named so that a colon and a slash follow.
_URL = re.compile(r"([^/\\]*)://|([A-Za-z][A-Za-z0-9+.-]+):/")
_REFUSED = {
    "memory": "it lives in one process and is gone with it",
    "data": "it is no place",
    **dict.fromkeys(
        ("dir", "reference", "generic", "cached", "simplecache", "filecache", "blockcache"),
        "it only stands for another file system, name that one",
    ),
}
# Their objects appear when the last byte of them is there; others have names that can be changed.
WHOLE_OBJECTS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "oci"})
HADOOP = frozenset({"hdfs", "viewfs"})
_UNSAFE = '/\\\0:*?"<>|'
_FILE_SYSTEMS = WHOLE_OBJECTS | HADOOP | {"webhdfs", "adl", "sftp", "ftp", "smb", *_LOCAL}


def is_elsewhere(place: str) -> bool:
    """True for a URL of another file system than this machine's, known or not."""
    return scheme_of(place) not in {"", *_LOCAL}


def is_file_system(url: str) -> bool:
    """True for a URL of a file system that people may want a warehouse on."""
    return scheme_of(url) in _FILE_SYSTEMS


def scheme_of(place: str) -> str:
    """What stands before the colon of a URL, also of one that lacks a slash; empty for a path."""
    found = _URL.match(place)
    return "" if found is None else (found[1] or found[2] or ":").lower()


def local_path(place: str) -> Path:
    """The path of a place on this machine, which may be written as ``file://``."""
    if scheme_of(place) in _LOCAL:
        return Path(unquote(urlsplit(place).path))
    return Path(place)


def local_folder(place: str) -> Path:
    """The path of a folder that must be one of this machine's; raises FILE_ACCESS for a URL."""
    if is_elsewhere(place):
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"{shown_place(place)} is not a folder of this machine",
            advice="name one that is; COPY, import and export take URLs of single files",
        )
    return local_path(place)


def below(place: str, *names: str) -> str:
    """What lies under some names in a folder."""
    return "/".join([bare(place), *names])


def bare(place: str) -> str:
    """A folder without slashes behind it; those of its scheme stay."""
    scheme, found, rest = place.partition("://")
    return f"{scheme}://{rest.rstrip('/')}" if found else place.rstrip("/")


def why_no_place(place: str) -> str | None:
    """Why a place cannot be one, as far as its name tells; None if it may be."""
    scheme = scheme_of(place)
    if "::" in place:
        return "file systems are not chained"
    if scheme and "://" not in place:
        return "two slashes follow the colon of a URL"
    if is_elsewhere(place) and scheme not in HADOOP and not urlsplit(place).netloc:
        return _REFUSED.get(scheme, "it names no bucket or server")
    return _REFUSED.get(scheme)


def shown_place(place: str) -> str:
    """A place as it may be shown: without user, password, query."""
    if "://" not in place:
        return place
    scheme, _, rest = place.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}".partition("?")[0]


def safe_name(name: str) -> str:
    """A name as a folder can have it."""
    return "".join("_" if c in _UNSAFE or c < " " else c for c in name).strip(".") or "_"
