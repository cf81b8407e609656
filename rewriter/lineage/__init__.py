"""Where the columns that a statement writes come from: read from its tree, whatever the dialect."""
