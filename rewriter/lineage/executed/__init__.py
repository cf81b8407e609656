"""The lineage of statements that are run, between the tables and views of the catalog."""
