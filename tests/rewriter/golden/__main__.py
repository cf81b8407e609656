"""Prints how golden files differ from what the rewriter gives now; ``--write`` renews them.

python -m tests.rewriter.golden [--write] [part of a case's name ...]
"""

from __future__ import annotations

import difflib
import sys

from tests.rewriter.golden.case import Case, all_cases
from tests.rewriter.golden.plans import golden_text


def difference(case: Case) -> str:
    """How the file differs from what the rewriter gives now, as a unified diff; "" if it is it."""
    made = golden_text(case).splitlines()
    return "\n".join(
        difflib.unified_diff(case.golden.splitlines(), made, case.path.name, "now", lineterm="")
    )


def main(arguments: list[str]) -> int:
    """Print differences, or write them into the files; 1 if there are any left."""
    wanted = [a for a in arguments if not a.startswith("-")]
    cases = [c for c in all_cases() if not wanted or any(part in c.name for part in wanted)]
    if "--write" in arguments:
        for case in cases:
            case.path.write_text(case.written + golden_text(case))
        return 0
    found = [text for text in map(difference, cases) if text]
    sys.stdout.write("\n".join([*found, ""]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
