"""The owner process that serves clients, when none of their own has the warehouse open.

    python -m gateway.opening.detached <folder> <descriptor>

It opens the warehouse, serves, and ends when no client has been there for a while.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import quote

from gateway.opening.warehouses import WAREHOUSES, TakenElsewhere
from journal.model.errors import PalimpsestError

IDLE_S = 30.0
"""How long it stays without a client."""
_FAILED = 3


def main(root: Path, told: int) -> int:
    """Own a folder until nobody uses it; ``told`` is closed when it is open, or gets the error."""
    with os.fdopen(told, "w", encoding="utf-8") as out:
        try:
            warehouse = WAREHOUSES.acquire(f"palimpsest:///{quote(str(root))}")
        except TakenElsewhere as taken:
            taken.peer.close()
            return 0
        except PalimpsestError as error:
            out.write(f"{error.code.name} {error.message}")
            return _FAILED
    WAREHOUSES.serve_until_idle(warehouse, IDLE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
