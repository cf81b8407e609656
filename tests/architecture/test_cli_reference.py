"""docs/cli.md says what the commands say."""

from __future__ import annotations

from tests.architecture.cli_reference import PAGE, page


def test_cli_reference_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs` to renew docs/cli.md"
