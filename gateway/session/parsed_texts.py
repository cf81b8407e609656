"""Reads the statements of a client's text; each text once, as long as it is remembered."""

from __future__ import annotations

from gateway.access.passwords import has_password
from gateway.session.literal_templates import TemplateSession
from gateway.session.plan_cache import PlanCache
from gateway.session.variable_parameters import without_placeholders
from rewriter.syntax.parsing import Parsed, parse


def read_text(
    session: TemplateSession, text: str, known: PlanCache, placeholders: bool
) -> list[Parsed]:
    """The statements of a text; raises SYNTAX and the like."""
    settings = session.settings
    key = (text, session.dialect, placeholders, settings.limits)
    found = known.cached_statements(key)
    if found is None:
        found = parse(text, session.dialect, settings.limits, placeholders=placeholders)
        if not placeholders:
            found = without_placeholders(found, settings)
        if not (any(map(has_password, found)) or (settings.variables and "$" in text)):
            known.put_statements(key, found)
    return found
