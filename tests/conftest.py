"""What every test shares: the repository's root, and a profile for hypothesis.

Fixtures that one folder needs live in that folder; nothing here opens a store.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile(
    "shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT
