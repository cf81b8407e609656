"""The SQL shell: prompt, backslash commands, and results that fit the screen."""
