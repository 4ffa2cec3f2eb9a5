"""What terminals keep for themselves, and how to get by: for the help."""

from __future__ import annotations

from collections.abc import Mapping

TERMINALS: Mapping[str, str] = {
    "any terminal": "A key that does not arrive has a command of the same meaning: / at the beginning of a line, or "
    "Ctrl+P. To select with the mouse, hold Shift (iTerm2: Option, macOS Terminal: Fn) and drag.",
    "copying": "Text is handed to the terminal (OSC 52), also over ssh, and to the tool of the desktop where there is "
    "one. Where neither arrives, select with the mouse, or export to a file.",
    "Windows Terminal": "Alt+Enter is its full screen: use Ctrl+J for a new line. Alt+Left and Alt+Right move between "
    "its panes when there are several.",
    "macOS Terminal": "Option is Alt only with 'Use Option as Meta key' (Settings, Profiles, Keyboard). F keys may "
    "need Fn. It takes no OSC 52.",
    "GNOME Terminal": "F1 and F10 may open its own help and menu; its settings can turn that off.",
    "VS Code": "Its terminal may keep Ctrl+P, Ctrl+G and F1 for the editor: use /help and the other commands.",
    "tmux": "For copying: set -g set-clipboard on. For an Esc without delay: set -sg escape-time 10. For all colours: "
    "set -as terminal-features ',*:RGB'.",
    "GNU screen": "It passes no OSC 52 on, and Ctrl+A is its own.",
    "ssh": "Keys, colours and copying are those of the terminal in front of you. Signs need a UTF-8 locale on both "
    "sides.",
    "few signs": "LOCALSPEC_ASCII=1 draws with letters, for consoles and fonts that lack blocks and dots.",
    "few colours": "NO_COLOR=1 turns colours off. No meaning is in a colour alone.",
}
"""By name, what to know."""
