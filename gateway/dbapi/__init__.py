"""The PEP 249 front end: connections and cursors over sessions."""
