"""Erasures: requests, the check of suppressed identifiers, legal holds, the audit log."""
