"""Which models: matched pairs, whether they fit each other and this machine, and how they get here."""
