"""Text to statements: tokens, spellings that sqlglot lacks, and its parser. It looks up no name."""
