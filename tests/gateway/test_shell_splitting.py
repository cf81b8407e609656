"""Where statements end, and whether one is still being typed."""

from __future__ import annotations

import pytest

from gateway.shell.input_buffer import BackslashLine, InputBuffer, is_ready
from gateway.shell.splitting import split_statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   \n -- nothing\n", []),
        ("/* nothing */ ;", []),
        ("select 1", ["select 1"]),
        ("select 1; select 2;", ["select 1", "select 2"]),
        ("select ';' ; select 2", ["select ';'", "select 2"]),
        ('select ";" ; x', ['select ";"', "x"]),
        ("select 'it''s; ok'; x", ["select 'it''s; ok'", "x"]),
        ("select 1 -- ; no\n; x", ["select 1 -- ; no", "x"]),
        ("select /* ; /* ; */ ; */ 1; x", ["select /* ; /* ; */ ; */ 1", "x"]),
        ("select $$a;b$$; x", ["select $$a;b$$", "x"]),
        ("select $q$a;$$;b$q$; x", ["select $q$a;$$;b$q$", "x"]),
        ("select $1; x", ["select $1", "x"]),
        ("select a#>b; x", ["select a#>b", "x"]),
        ("select e'a\\';b'; x", ["select e'a\\';b'", "x"]),
        ("select 'a\\'; x", ["select 'a\\'", "x"]),
    ],
)
def test_statements_end_at_their_semicolons(text: str, expected: list[str]) -> None:
    assert [piece.text for piece in split_statements(text)] == expected


def test_mysql_knows_escapes_and_hash_comments() -> None:
    text = "select 'a\\';b' # ; \n; select 2"
    assert [p.text for p in split_statements(text, "mysql")] == ["select 'a\\';b' # ;", "select 2"]


def test_a_piece_knows_where_it_began() -> None:
    second = split_statements("select 1;\n\n  select 2;")[1]
    assert (second.line, second.column) == (2, 2)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("select 1;", True),
        ("select 1", False),
        ("select 'a;", False),
        ("select $$;", False),
        ("select 1; /* ;", False),
        ("", True),
        ("select 1; -- done", True),
    ],
)
def test_completeness(text: str, complete: bool) -> None:
    assert is_ready(text) is complete


def test_commands_stand_behind_statements_and_between_their_lines() -> None:
    buffer = InputBuffer()
    buffer.add("select 1; select 2 \\gx\nselect 'a\\b',\n\\timing\n 3;\n", 0)
    found = []
    for part in buffer.parts("duckdb"):
        if isinstance(part, BackslashLine):
            found.append((part.text, buffer.text.strip()))
            if part.text == "\\gx":
                assert buffer.take() is not None
        else:
            found.append((part.text, part.line))
    assert found == [
        ("select 1", 0),
        ("\\gx", "select 2"),
        ("\\timing", "select 'a\\b',"),
        ("select 'a\\b',\n\n 3", 1),
    ]
    assert buffer.take() is None


@pytest.mark.parametrize(
    ("text", "ready"),
    [
        ("\\d", True),
        ("select 1 \\gx", True),
        ("select 1\n\\q", True),
        ("select '\\gx", False),
        ("select 1 \\timing\n, 2", False),
        ("-- only a \\remark", True),
    ],
)
def test_a_command_is_sent_by_enter(text: str, ready: bool) -> None:
    assert is_ready(text) is ready
