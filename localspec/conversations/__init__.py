"""The conversations a person keeps: what was said, in which branches, and the file that holds it."""
