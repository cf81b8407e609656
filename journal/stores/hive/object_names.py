"""Names of segments and of staged tables: each tells when it was made, and no two are the same."""

from __future__ import annotations


def segment_id(now_us: int, unique: str) -> str:
    """The name of a segment's partition."""
    return f"s{now_us}_{unique[:8]}"


def staging_name(prefix: str, now_us: int, unique: str) -> str:
    """The name of a table of staged rows."""
    return f"{prefix}{now_us}_{unique[:8]}"


def made_us(name: str) -> int | None:
    """When what bears a name was made, without the prefix of tables; None where it does not tell.

    Microseconds since 1970.
    """
    number = name.removeprefix("s").partition("_")[0]
    return int(number) if number.isdigit() else None
