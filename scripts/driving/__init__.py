"""Parts of scripts/drive_app.py: a terminal, hands that do what comes to mind, eyes that see what must not be."""
