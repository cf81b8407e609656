"""Warehouses that begin with the same tables: made once a process, and copied for each test.

Opening a copy takes as long as opening any warehouse; what is saved is its making, and the
statements, which take most of the time of a test that asks one question of them.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gateway
from tests.support.urls import url_of_folder


def prepared_warehouse(place: Path, statements: Sequence[str], **options: Any) -> str:
    """The URL of a warehouse at ``place``, as the statements of a client leave a new one.

    ``options`` are those of the client that ran them.
    """
    shutil.copytree(_made(tuple(statements), tuple(sorted(options.items()))), place)
    return url_of_folder(place)


@cache
def _made(statements: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-prepared-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / "warehouse"
    with gateway.connect(url_of_folder(made), autocommit=True, **dict(options)) as client:
        for statement in statements:
            client.execute(statement).close()
    return made
