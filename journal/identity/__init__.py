"""What identifies a person: descriptors of tables, paths in values, the suppression list."""
