"""One rule per kind of statement; no rule imports another."""
