"""What backslash commands share: their error, and how their arguments are split."""

from __future__ import annotations

import shlex


class WrongCommand(Exception):
    """A backslash command that is not there, or is used wrongly; the text says which are."""


def split_words(text: str) -> list[str]:
    """The arguments of a command, quotes taken off; WrongCommand where a quote is not closed.

    >>> split_words("'a file.csv' b")
    ['a file.csv', 'b']
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise WrongCommand(f"a quote is not closed: {text}") from error
