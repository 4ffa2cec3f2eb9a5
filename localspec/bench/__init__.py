"""What speculation is worth on this machine, that it is exact, and how far the limit is."""
