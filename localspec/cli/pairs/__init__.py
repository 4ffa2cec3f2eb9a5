"""The commands about pairs: each parses, calls one function of `localspec.pairs`, and prints what came."""
