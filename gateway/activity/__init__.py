"""Who is connected to a warehouse, and what their statements are doing and have done."""
