"""Erasures of embedded warehouses: segments are files, which engines write anew."""
