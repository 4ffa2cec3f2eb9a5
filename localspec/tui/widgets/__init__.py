"""The parts a screen is made of, one file each."""
