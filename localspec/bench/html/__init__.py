"""The page of a benchmark: one file, plots as inline SVG."""
