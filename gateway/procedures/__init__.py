"""Requests of CALL and the command line: adoption, erasures, holds, functions."""
