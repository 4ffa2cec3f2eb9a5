"""Looking for the layers that a target can do without when it drafts for itself."""
