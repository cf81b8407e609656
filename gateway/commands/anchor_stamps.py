"""Timestamps of anchors: tokens in which a time authority signs when it saw one (RFC 3161)."""

from __future__ import annotations

import base64
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import rfc3161_client as client
from cryptography.x509 import load_pem_x509_certificates

from gateway.commands.anchor_files import not_accessible
from journal.erasure.audit_anchor import Anchor
from journal.model.errors import Code, PalimpsestError

_WAIT_S = 30
_REQUEST = {"Content-Type": "application/timestamp-query"}


def stamped(anchor: Anchor, url: str) -> Anchor:
    """The anchor with a timestamp of an authority (RFC 3161), asked over HTTP. Raises URL.

    The authority learns a hash of the anchor, nothing else.
    """
    query = client.TimestampRequestBuilder().data(anchor.stamped_bytes()).build()
    if not url.startswith(("http://", "https://")):
        raise _not_stamped(url, "it is no http or https URL")
    request = urllib.request.Request(url, query.as_bytes(), _REQUEST)  # noqa: S310 (checked above)
    try:
        with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:  # noqa: S310
            token = answer.read()
        response = client.decode_timestamp_response(token)
    except (OSError, ValueError) as error:
        raise _not_stamped(url, str(error)) from error
    if client.PKIStatus(response.status) != client.PKIStatus.GRANTED:
        raise _not_stamped(url, f"it answered {'; '.join(response.status_string) or 'no'}")
    return replace(anchor, timestamp=base64.b64encode(token).decode())


def stamp_problems(anchors: Sequence[Anchor], roots: Path) -> list[str]:
    """Which timestamps the authorities whose root certificates ``roots`` holds (PEM) did not give.

    Raises FILE_ACCESS for a file without certificates.
    """
    try:
        certificates = load_pem_x509_certificates(roots.read_bytes())
    except (OSError, ValueError) as error:
        raise not_accessible(roots, "read as certificates", error) from error
    verifier = client.VerifierBuilder(roots=certificates).build()
    problems = []
    for anchor in anchors:
        if anchor.timestamp is None:
            continue
        try:
            response = _response(anchor)
            verifier.verify_message(response, anchor.stamped_bytes())
        except (client.VerificationError, ValueError) as error:
            problems.append(f"the timestamp of entry {anchor.entry} does not hold: {error}")
    return problems


def stamped_at(anchor: Anchor) -> datetime:
    """When an authority saw an anchor, as its token says."""
    return _response(anchor).tst_info.gen_time


def _response(anchor: Anchor) -> client.TimeStampResponse:
    token = base64.b64decode(anchor.timestamp or "", validate=True)
    return client.decode_timestamp_response(token)


def _not_stamped(url: str, reason: str) -> PalimpsestError:
    return PalimpsestError(
        Code.URL,
        f"the time authority {url} gave no timestamp, so nothing was anchored: {reason}",
        advice="check the URL; anchor without --timestamp to have the line alone",
    )
