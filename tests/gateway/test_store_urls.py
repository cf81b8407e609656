"""URLs that name no store say which form is wanted, and misspelt options what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.opening.folder_urls import parse_url
from gateway.opening.hive_servers import options_of
from journal.model.errors import Code, PalimpsestError

HIVE = "palimpsest+hive://user@"
CATALOG = "catalog=sqlite:///catalog.db"


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("jdbc:hive2://h:1/db;auth=noSasl", f"{HIVE}h:1/db?auth=NOSASL&{CATALOG};"),
        ("jdbc:hive2://h:1", f"{HIVE}h:1/default?auth=NONE&{CATALOG};"),
        (
            "jdbc:hive2://a:2181,b:2181/;serviceDiscoveryMode=zooKeeper",
            f"{HIVE}host:10000/default?auth=NONE&{CATALOG};",
        ),
        ("hive://me:secret@h:1/db", f"{HIVE}h:1/db?auth=NONE&{CATALOG};"),
        ("jdbc:postgresql://h/shop?ssl=true", "palimpsest+postgresql://user@h/shop;"),
        ("postgresql+psycopg://me:secret@h:5/shop", "palimpsest+postgresql://user@h:5/shop;"),
        ("palimpsest+hiv://h:1/db", "did you mean palimpsest+hive "),
    ],
)
def test_another_programs_url_gets_the_form_that_is_wanted(url: str, wanted: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        parse_url(url)
    error = raised.value
    assert error.code is Code.URL
    assert wanted in f"{error.advice};"
    assert "secret" not in str(error)


def test_a_misspelt_option_is_named_with_the_one_that_is_meant(tmp_path: Path) -> None:
    with pytest.raises(PalimpsestError) as raised:
        options_of("palimpsest+hive://h:1/db?inlne_commits=on")
    assert raised.value.advice.startswith("did you mean inline_commits")
    for url, said, near in (
        (f"palimpsest:///{tmp_path}/w?memory_limitt=1GB", "memory_limitt", "memory_limit"),
        (f"palimpsest:///{tmp_path}/w?warehouse_mod=0700", "warehouse_mod", "warehouse_mode"),
        ("palimpsest+postgresql://h/d?silence_timout=1", "silence_timout", "silence_timeout"),
        ("palimpsest+postgresql://h/d?sslmod=require", "sslmod", "sslmode"),
    ):
        with pytest.raises(gateway.Error) as refused:
            gateway.connect(url)
        assert refused.value.code == "PAL-603", url
        assert f"unknown option: {said}" in str(refused.value)
        assert f"did you mean {near}" in str(refused.value)
