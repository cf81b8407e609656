"""A project of Django in one file, run by ``test_frameworks``: migrations, and an app."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command

_MODELS = """
from django.db import models

class Author(models.Model):
    name = models.CharField(max_length=100)
    born = models.DateField(null=True)

class Book(models.Model):
    title = models.CharField(max_length=200, db_index=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    tags = models.JSONField(default=dict)
    added = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gte=0), name="price_positive"),
            models.UniqueConstraint(fields=["title", "author"], name="once"),
        ]
"""


def main(folder: Path, port: str) -> dict[str, Any]:
    """Make the app in a folder, migrate, and use it; what came of it."""
    app = folder / "shop"
    (app / "migrations").mkdir(parents=True)
    for name in ("__init__.py", "migrations/__init__.py"):
        (app / name).touch()
    (app / "models.py").write_text(_MODELS)
    sys.path.insert(0, str(folder))
    engine = "django.db.backends.postgresql"
    place = {"ENGINE": engine, "NAME": "palimpsest", "USER": "me", "HOST": "127.0.0.1"}
    settings.configure(
        DATABASES={"default": {**place, "PORT": port}},
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "shop"],
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)
    return _use(importlib.import_module("shop.models"))


def _use(models: Any) -> dict[str, Any]:
    from django.db import IntegrityError, connection, transaction

    ada = models.Author.objects.create(name="Ada", born=dt.date(1815, 12, 10))
    books = models.Book.objects
    books.create(title="Notes", author=ada, price=Decimal("9.50"), tags={"k": [1, 2]})
    books.bulk_create([models.Book(title=f"t{i}", author=ada, price=i) for i in range(20)])
    found: dict[str, Any] = {
        "tags": books.get(title="Notes").tags,
        "author": books.select_related("author").get(title="t3").author.name,
        "dear": books.filter(price__gt=9).count(),
        "updated": books.filter(title="t3").update(price=99),
        "deleted": books.filter(title="t4").delete()[0],
        "iterated": len(list(books.order_by("id").iterator(chunk_size=5))),
        "errors": [],
    }
    for change in ({"title": "Notes", "price": 1}, {"title": "bad", "price": -1}):
        try:
            with transaction.atomic():
                books.create(author=ada, **change)
        except IntegrityError as error:
            found["errors"].append(str(error).partition("(PAL")[2][:4])
    with transaction.atomic():
        found["locked"] = models.Author.objects.select_for_update().get(pk=ada.pk).name
    with connection.cursor() as cursor:
        known = connection.introspection.get_constraints(cursor, "shop_book")
    found["constraints"] = sorted(name for name in known if name in {"once", "price_positive"})
    ada.delete()
    found["left"] = books.count()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
