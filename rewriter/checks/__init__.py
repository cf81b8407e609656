"""What is allowed, what is refused, and what must hold of every plan."""
