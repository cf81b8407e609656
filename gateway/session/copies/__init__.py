"""COPY and loads of files: where rows come from and go to, and rows that no column takes."""
