"""Whether the client may run a statement, looked at before any rule sees it."""
