"""URLs of warehouses in folders."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote


def url_of_folder(root: Path) -> str:
    """The URL of a warehouse by its absolute path."""
    return f"palimpsest:///{quote(str(root.absolute()))}"
