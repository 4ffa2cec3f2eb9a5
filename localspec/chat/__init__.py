"""Conversations: text and messages on one side, token ids and a loop on the other."""
