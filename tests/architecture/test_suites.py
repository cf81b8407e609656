"""What every store promises is tested once, in ``tests/contract/store``, and not once a store."""

from __future__ import annotations

from pathlib import Path

TWICE = {
    "test_catalog_formats.py": "catalogs of the version before, which each store keeps in its way",
    "conftest.py": "the fixtures of the folder",
    "test_logic_files.py": "the common scripts, of which Hive runs fewer at once",
    "test_random_programs.py": "the common programs, of which Hive runs fewer and shorter ones",
}
"""Files that stand in both folders, and why; the list only falls."""
TWICE_MAX = 4


def test_no_test_file_stands_once_for_each_store(root: Path) -> None:
    database, hive = (
        {path.name for path in (root / "tests" / folder).glob("*.py")}
        for folder in ("database", "hive")
    )
    assert database & hive == set(TWICE), "write it once, in tests/contract/store"
    assert len(TWICE) <= TWICE_MAX
