"""Text to statements: tokens, spellings that sqlglot lacks, and its parser. Looks no name up."""
