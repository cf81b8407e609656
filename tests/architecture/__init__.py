"""Tests of the source tree itself: its shape, its imports, its documents."""
