"""Records of a store: catalog, backups, holds, requests, retired segments, jobs."""
