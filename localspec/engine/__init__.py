"""The process of its own that holds the models, and the way to talk to it."""
