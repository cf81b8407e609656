"""Test support: the oracle, the logic-file runner, the program generator.

The product never imports it.
"""
