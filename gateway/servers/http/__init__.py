"""What operators and their tools ask of a server over HTTP."""
