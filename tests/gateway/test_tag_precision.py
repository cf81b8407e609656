"""How many proposals of tags are right, over a made corpus of columns as warehouses have them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

from gateway.procedures.personal_values import recognisers
from gateway.procedures.tag_proposals import propose_tags

_DICE = random.Random(20)
_ROWS = 60


def _column(make: Callable[[int], object]) -> list[object]:
    return [make(i) for i in range(_ROWS)]


def _digits(width: int) -> str:
    return str(_DICE.randrange(10 ** (width - 1), 10**width))


PERSONAL = {
    "contact": _column(lambda i: f"user{i}@shop.example.org"),
    "reply_to": _column(lambda i: f"no.{i}@mail.example"),
    "customer_email": _column(lambda i: None if i % 3 else f"c{i}@example.org"),
    "mobile": _column(lambda i: f"+49 151 {_digits(8)}"),
    "callback": _column(lambda i: f"+1 212 555 {_digits(4)}"),
    "fax_number": [None],
    "given_name": ["Ada", "Alan"],
    "CustomerLastName": ["Lovelace", "Turing"],
    "billing_street": ["Elm Street 5"],
    "postal_code": _column(lambda i: _digits(5)),
    "date_of_birth": [None],
    "dob": [None],
    "client_ip": _column(lambda i: f"10.0.{i}.{i + 1}"),
    "passport_no": ["C01X00T47"],
    "iban": ["DE89370400440532013000"],
    "home_address": ["Elm Street 5, Springfield"],
}
OTHERS = {
    "id": _column(lambda i: i),
    "order_no": _column(lambda i: f"2024-{_digits(8)}"),
    "invoice": _column(lambda i: f"INV{_digits(7)}"),
    "ean": _column(lambda i: _digits(13)),
    "sku": _column(lambda i: f"A-{_digits(4)}-{_digits(2)}"),
    "amount_cents": _column(lambda i: int(_digits(5))),
    "created_at": _column(lambda i: f"2024-05-01 10:{i % 60:02}:00"),
    "epoch_ms": _column(lambda i: 1_700_000_000_000 + i * 977),
    "tracking": _column(lambda i: f"1Z{_digits(16)}"),
    "session": _column(lambda i: str(uuid.UUID(int=_DICE.getrandbits(128)))),
    "sha": _column(lambda i: f"{_DICE.getrandbits(160):040x}"),
    "version": _column(lambda i: f"{i}.{i + 1}.0"),
    "latitude": _column(lambda i: f"{_DICE.uniform(-90, 90):.6f}"),
    "product_name": _column(lambda i: f"Lamp {i}"),
    "file_name": _column(lambda i: f"report{i}.csv"),
    "host_name": _column(lambda i: f"web{i}.internal"),
    "table_name": _column(lambda i: f"t{i}"),
    "country": ["DE", "FR", "NL", "US", "GB", "ES"],
    "handle": _column(lambda i: f"@team{i}"),
    "url": _column(lambda i: f"https://example.org/{i}?a=b@c"),
    "cron": ["0 5 * * *", "*/5 * * * *"],
    "cell_count": _column(lambda i: i * 3),
    "mail_class": ["first", "priority", "bulk", "media", "library", "retail"],
    "phone_model": ["X1", "X2", "Y3", "Z9", "Q5", "R2"],
    "street_lights": _column(lambda i: i),
    "tel_minutes": _column(lambda i: i * 7),
    "ip_version": _column(lambda i: 4 + 2 * (i % 2)),
    "state": ["open", "closed"],
    "big": _column(lambda i: int(_digits(10))),
    "batch": _column(lambda i: int(_digits(16))),
}


def test_proposals_are_mostly_right_and_mostly_complete() -> None:
    looks_like = recognisers(None, ())
    proposed = {p.column for p in propose_tags({**PERSONAL, **OTHERS}, looks_like, {})}
    right = proposed & PERSONAL.keys()
    wrong, missed = sorted(proposed - right), sorted(PERSONAL.keys() - right)
    assert missed == []
    # Names of which values say nothing: a person sees at once that these are none.
    assert wrong == ["ip_version", "street_lights"]
    assert len(right) / len(proposed) > 0.85
