"""`localspec bench`, step by step: plan, measure, compare."""
