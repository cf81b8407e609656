"""The DB-API across a network: a session of a server, reached through the PostgreSQL protocol."""
