"""What disturbs the rows of a table most while others use it: sealing, or a compaction."""


def disturb(url: str, table: str) -> str:
    """Return the statement for a table of the store with that URL."""
    # A server has nothing to seal.
    procedure = "compact" if "+" in url.partition(":")[0] else "flush"
    return f"CALL system.{procedure}('{table}')"
