"""Row policies: which rows a role sees of the tables that a statement reads."""
