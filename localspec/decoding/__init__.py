"""The algorithm: draft, verify, accept, roll back. Knows token ids and numpy arrays, nothing else of ours."""
