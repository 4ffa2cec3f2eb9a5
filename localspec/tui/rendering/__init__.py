"""From texts and figures to lines of a terminal, without an app around them."""
