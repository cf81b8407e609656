"""Who the clients are, and what they may do."""
