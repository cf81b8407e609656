"""A client's session and the executor: one statement through the pipeline, and what it keeps."""
