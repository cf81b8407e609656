"""When a journal is to be compacted: limits that a table's properties ``compact_..`` set. Pure."""

from __future__ import annotations

from dataclasses import fields, replace

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold

PREFIX = "compact_"


@dataclass(frozen=True, slots=True)
class Slo:
    """When a journal is to be compacted; a limit that is None is not looked at.

    ``amplification_max``: the current view may cost so many plain scans. ``deltas_max``: more
    segments of changes, or of small inserts, are merged. ``delta_bytes_max`` and ``age_max_s``: of
    changes that wait for a major compaction. ``changes_min``: fewer changed rows are left alone,
    whatever share of a small table they are.
    """

    amplification_max: float | None = 1.3
    deltas_max: int | None = 30
    delta_bytes_max: int | None = None
    age_max_s: float | None = None
    small_bytes: int = 16 << 20
    changes_min: int = 1_000

    @staticmethod
    def of(table: Table) -> Slo:
        """The limits of a table: those its properties ``compact_..`` set, else the usual ones.

        Raises SETTING_VALUE for limits that there are not, or that mean nothing.
        """
        found: dict[str, float | int | None] = {}
        known = {f"{PREFIX}{f.name}": f.name for f in fields(Slo)}
        for key, value in table.properties:
            name = known.get(fold(key))
            if name is not None:
                found[name] = _limit(key, value, whole=name not in _FRACTIONS)
            elif fold(key).startswith(PREFIX):
                raise PalimpsestError(
                    Code.SETTING_VALUE,
                    f"there is no limit {key}",
                    advice="the limits are " + ", ".join(known),
                )
        return replace(Slo(), **found)  # type: ignore[arg-type]


_FRACTIONS = frozenset({"amplification_max", "age_max_s"})


def _limit(key: str, value: str, *, whole: bool) -> float | int | None:
    if value.lower() in {"", "none", "never"}:
        return None
    try:
        found = int(value) if whole else float(value)
    except ValueError:
        found = -1
    if not 0 <= found < float("inf"):
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"the property {key} cannot be {value!r}",
            advice="use a number, or never",
        )
    return found
