"""Statements by what they are about, as values that the rewriter takes."""
