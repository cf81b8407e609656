"""The suite itself: every test class SQLAlchemy ships for dialects."""

from __future__ import annotations

from sqlalchemy.testing.suite import *  # noqa: F403 - that is how the suite is taken
