"""Random SQL programs: the same seed always gives the same program; nothing here runs one."""
