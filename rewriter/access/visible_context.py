"""A context that contains only what a role may see, now and in the past. Pure."""

from __future__ import annotations

from dataclasses import replace

from journal.model.access import Rights
from journal.model.plan import PointRequest
from journal.model.visibility import visible_to
from rewriter.context import RewriteContext, TimePoint


def as_seen(context: RewriteContext, rights: Rights) -> RewriteContext:
    """The same for what shows the catalog itself."""

    def times(request: PointRequest) -> TimePoint:
        found = context.times(request)
        return replace(found, catalog=visible_to(found.catalog, rights), history=())

    return replace(context, catalog=visible_to(context.catalog, rights), times=times)
