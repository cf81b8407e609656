"""Tags of tables and columns as definitions see them. Pure."""

from __future__ import annotations

from journal.model.access import VALUE, AccessControl, ObjectKey, ObjectKind, tag_key
from journal.model.errors import Code, PalimpsestError
from journal.model.row_policy import TablePolicy
from journal.model.schema import fold
from rewriter.context import RewriteContext
from rewriter.definitions.type_families import TEXT, type_family


def tag_names(access: AccessControl) -> dict[str, str]:
    """All tags by folded name: those that some table has, a mask, or a grant."""
    found = {key.name: key.name for key in access.objects if key.kind is ObjectKind.TAG}
    for one in access.objects.values():
        found |= {fold(t.tag): t.tag for t in one.tags}
    return found


def mask_place(type_text: str) -> str:
    """Where the mask of a tag for a type stands among its masks: by the family of the type."""
    family = type_family(type_text)
    return VALUE if family == TEXT else family


def mask_family(mask: TablePolicy) -> str:
    """The family of types that a mask of a tag is for."""
    return TEXT if mask.column == VALUE else mask.column


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
