"""Tags of tables and columns as definitions see them. Pure."""

from __future__ import annotations

from journal.model.access import AccessControl, ObjectKey, ObjectKind, tag_key
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import fold
from rewriter.context import RewriteContext


def tag_names(access: AccessControl) -> dict[str, str]:
    """All tags by folded name: those that some table has, a mask, or a grant."""
    found = {key.name: key.name for key in access.objects if key.kind is ObjectKind.TAG}
    for one in access.objects.values():
        found |= {fold(t.tag): t.tag for t in one.tags}
    return found


def known_tag(name: str, context: RewriteContext) -> ObjectKey:
    """The key of a tag; raises GRANT for one that is nowhere."""
    known = tag_names(context.catalog.access)
    if fold(name) not in known:
        shown = ", ".join(sorted(known.values())) or "none"
        raise PalimpsestError(
            Code.GRANT,
            f"there is no tag {name}",
            advice=f"set it on a column, or give it a mask first; the tags are: {shown}",
        )
    return tag_key(name)
