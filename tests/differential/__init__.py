"""Tests: differential."""
