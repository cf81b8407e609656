"""What CALL and the command line ask for besides SQL: adoption, erasures, holds, functions."""
