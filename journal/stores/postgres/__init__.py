"""PostgreSQL and its family: connections, their SQL, layouts, and the catalog inside."""
