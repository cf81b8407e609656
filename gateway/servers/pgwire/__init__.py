"""The PostgreSQL protocol, version 3: messages, types, one connection, the server."""
