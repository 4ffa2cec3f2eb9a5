"""The full-screen app: a chat that shows what speculation does, live."""
