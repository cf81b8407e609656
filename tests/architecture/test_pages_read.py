"""A block that nobody runs, and of which nobody says why, is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import parts, untold

FENCE = "```"


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text.replace("~~~", FENCE), encoding="utf-8")
    return page


@pytest.mark.parametrize(
    "text",
    [
        "~~~\n$ palimpsest log\n~~~\n",
        "~~~bash\npalimpsest log\n~~~\n",
        "<!-- not run: no -->\n~~~sh\npalimpsest log\n~~~\n",
        "<!-- not run: the reason is long enough -->\n~~~sh\nls\n~~~\n\n~~~output\na\n~~~\n",
        "~~~sh\nls\n~~~\n\nThis prints:\n\n~~~output\na\n~~~\n",
        "- a list\n  ~~~sh\n  ls\n  ~~~\n",
    ],
)
def test_what_is_neither_run_nor_excused_is_found(tmp_path: Path, text: str) -> None:
    assert untold(_page(tmp_path, text))


def test_blocks_are_read_in_their_order(tmp_path: Path) -> None:
    text = (
        "<!-- first:\nmkdir a\n-->\n\n~~~sql\nSELECT 1\n~~~\n\n~~~output\n1\n~~~\n\n"
        "<!-- not run: needs a server of one's own -->\n~~~sh\nssh a\n~~~\n\n"
        "<!-- fresh folder -->\n~~~python\nprint(2)\n~~~\n\n~~~text\nhere\n~~~\n"
    )
    page = _page(tmp_path, text)
    assert not untold(page)
    first, second = parts(page)
    assert [(b.line, b.language, b.is_run, b.output) for b in first] == [
        (1, "sh", True, None),
        (5, "sql", True, "1\n"),
        (13, "sh", False, None),
    ]
    assert first[2].why_not == "needs a server of one's own"
    assert [(b.language, b.is_run) for b in second] == [("python", True), ("text", False)]
