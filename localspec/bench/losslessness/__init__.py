"""Whether speculation changes the text: on the person's own pair, with the code that writes their answers."""
