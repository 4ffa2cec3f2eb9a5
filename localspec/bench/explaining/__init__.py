"""What speculation does on this machine with this pair, measured and told in plain words."""
