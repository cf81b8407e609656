"""What must be true of a bucket and a warehouse after a job that wrote there was killed."""

from __future__ import annotations

import json

from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.verification import verify
from spark_compaction.programs.copies import MANIFEST
from tests.support.client import Client
from tests.support.s3 import Server, objects

TOKEN = "ada@very-private.example"


def is_clean(run: Client, server: Server, bucket: str) -> bool:
    """In the bucket lies what the lists of the backups there name, and no part of a file."""
    journal = run.connection.session.journal
    assert verify(journal).problems == []
    assert unlisted_files(journal) == []
    client = server.client()
    assert not client.list_multipart_uploads(Bucket=bucket).get("Uploads")
    found, listed = set(objects(server, bucket)), set()
    for name in [n for n in found if n.endswith(MANIFEST)]:
        text = json.loads(client.get_object(Bucket=bucket, Key=name)["Body"].read())
        folder = name.removesuffix(MANIFEST)
        files = [f["path"] for s in text["segments"] for f in s["files"]]
        listed |= {name, *(folder + f for f in files), folder + text["filters"]}
    assert found == listed
    return True
