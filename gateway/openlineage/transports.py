"""The transport of the OpenLineage client for a URL: a file, HTTP, or a topic of Kafka."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from openlineage.client.transport import get_default_factory

from gateway.openlineage.sender import EventSender, EventTransport
from journal.model.errors import Code, PalimpsestError

_KEY = "OPENLINEAGE_API_KEY"
_ENDPOINT = "api/v1/lineage"


def transport_config(url: str, api_key: str | None = None) -> dict[str, Any]:
    """The configuration of the client for ``file:``, ``http:``, ``https:`` or ``kafka:``.

    Raises SETTING_VALUE for another URL.

    >>> transport_config("kafka://broker:9092/lineage")["topic"]
    'lineage'
    """
    parts = urlsplit(url)
    path = parts.path.strip("/")
    if parts.scheme == "file" and parts.path:
        return {"type": "file", "log_file_path": parts.path, "append": True}
    if parts.scheme in {"http", "https"} and parts.netloc:
        auth = {"auth": {"type": "api_key", "apiKey": api_key}} if api_key else {}
        found = {"type": "http", "url": f"{parts.scheme}://{parts.netloc}"}
        return {**found, "endpoint": path or _ENDPOINT, **auth}
    if parts.scheme == "kafka" and parts.netloc and path:
        return {"type": "kafka", "config": {"bootstrap.servers": parts.netloc}, "topic": path}
    raise PalimpsestError(
        Code.SETTING_VALUE,
        f"events of OpenLineage cannot be sent to {url}",
        advice="give file:///PATH, http://HOST:PORT, https://.. or kafka://BROKER:PORT/TOPIC",
    )


def sender_to(url: str, namespace: str) -> EventSender:
    """What sends the events of statements to a URL, from now on; raises as ``transport_of``."""
    return EventSender(transport_of(url), namespace)


def transport_of(url: str) -> EventTransport:
    """A transport; the key of an HTTP service comes from OPENLINEAGE_API_KEY.

    Raises SETTING_VALUE for a URL that is none, NOT_SUPPORTED where a package is missing.
    """
    config = transport_config(url, os.environ.get(_KEY))
    if config["type"] == "kafka" and find_spec("confluent_kafka") is None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"sending events to {url} needs confluent-kafka",
            advice="pip install 'openlineage-python[kafka]'",
        )
    made: EventTransport = get_default_factory().create(config)
    return made
