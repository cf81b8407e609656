"""What is on record beside the rows: backups, holds, requests, retired segments, states."""
