"""What would go by the order of texts, where addresses are kept as such: it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list_sort(ips) FROM h",
        "SELECT list_min(ips) FROM h",
        "SELECT quantile_disc(ip, 0.5) FROM h",
        "SELECT median(ip) FROM h",
        "SELECT arg_max(id, ip) FROM h",
        "SELECT greatest(ip, '9.9.9.9') FROM h",
        "SELECT ip FROM h ORDER BY ALL",
        "SELECT id FROM h ORDER BY (ip, id)",
        "SELECT id FROM h ORDER BY ips",
        "SELECT v.a FROM (VALUES ('10.0.0.1'::INET), ('9.0.0.1')) AS v(a) ORDER BY v.a",
        "SUMMARIZE h",
    ],
)
def test_an_order_of_addresses_that_is_not_told_is_refused(tmp_path: Path, query: str) -> None:
    with gateway.connect(f"palimpsest:{tmp_path / 'w'}", autocommit=True) as con:
        con.execute("CREATE TABLE h (id INTEGER PRIMARY KEY, ip INET, ips INET[])")
        with pytest.raises(gateway.ProgrammingError) as raised:
            con.execute(query)
        assert raised.value.sqlstate == "42883"
