"""What the control API answers, one module for each area; each has its ``ROUTER``."""
