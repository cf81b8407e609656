"""Addresses of networks, inet and cidr, in words of stores that keep them as texts."""
