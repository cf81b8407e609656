"""Which relations of ``system`` show more than a role's own tables, and who may read them."""

from __future__ import annotations

from journal.model.access import Privilege

_OF_WHAT_IS_SEEN = frozenset(
    {"tables", "columns", "sequences", "types", "macros", "settings", "policies", "indexes"}
    | {"sessions", "statements", "roles", "privileges", "access_policies", "tags"}
    | {"lineage", "column_lineage", "usage", "safe_mode"}
)
"""Those that list what a role sees, and one that is for everybody."""
_OPERATORS = {
    "journals": (Privilege.MAINTAIN,),
    "segments": (Privilege.MAINTAIN,),
    "jobs": (Privilege.MAINTAIN,),
    "events": (Privilege.MAINTAIN,),
    "service_levels": (Privilege.MAINTAIN,),
    "backups": (Privilege.MAINTAIN,),
    "replicas": (Privilege.MAINTAIN,),
    "reject_files": (Privilege.MAINTAIN, Privilege.ERASE),
    "holds": (Privilege.HOLD,),
    "erasures": (Privilege.ERASE, Privilege.APPROVE),
    "privacy_requests": (Privilege.ERASE, Privilege.APPROVE),
    "transactions": (Privilege.HISTORY,),
}
"""Those that tell of all tables."""


def privileges_to_read(name: str) -> tuple[Privilege, ...]:
    """The privileges on the database of which a role needs one to read a relation; or none at all.

    ``name`` is folded, and without the schema.
    """
    return () if name in _OF_WHAT_IS_SEEN else _OPERATORS.get(name, (Privilege.ADMIN,))
