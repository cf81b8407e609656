"""Which notices a client wants to hear, by PostgreSQL's setting ``client_min_messages``. Pure."""

from __future__ import annotations

from gateway.config import Settings
from gateway.session.outcome import StatementOutcome
from gateway.session.taken_settings import MESSAGE_LEVELS

_SETTING = "client_min_messages"


def is_heard(severity: str, settings: Settings) -> bool:
    """True for a message of a severity, ``NOTICE`` or ``WARNING``, that is not below the level."""
    level = dict(settings.taken).get(_SETTING)
    return level is None or MESSAGE_LEVELS.index(severity.lower()) >= MESSAGE_LEVELS.index(level)


def without_unheard(outcome: StatementOutcome, settings: Settings) -> StatementOutcome:
    """The outcome of a statement, with the notices that its client wants to hear."""
    if outcome.notices and not is_heard("NOTICE", settings):
        outcome.notices = ()
    return outcome
