"""Everything a person can do in a chat, once: keys, footer, slash commands, palette and help follow from here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do.

    Attributes:
        name: the screen's `action_NAME` does it.
        title: what it is called in the footer and in the palette; a few words.
        help: what it does, one sentence.
        keys: keys for it, the first one shown; empty for none.
        slash: the word after / for it; "" for none. Text after the word goes to the action that `takes` some.
        takes: what that text is, for the help; "" when it takes none.
        in_footer: whether the footer shows it.
    """

    name: str
    title: str
    help: str
    keys: tuple[str, ...] = ()
    slash: str = ""
    takes: str = ""
    in_footer: bool = False


ACTIONS = (
    Action("send", "send", "Send what is written. Ctrl+J or Alt+Enter begins a new line.", ("enter",), in_footer=True),
    Action("stop", "stop", "Stop the answer; what came is kept.", ("escape",), "stop", in_footer=True),
    Action("toggle_speculation", "speculation", "Turn speculation on or off, from the next answer on.", ("ctrl+s",),
        "speculation", "on or off", in_footer=True),
    Action("toggle_origins", "who wrote it", "Mark each token by who wrote it. Point at one to know more.", ("ctrl+t",),
        "who", in_footer=True),
    Action("compare", "compare", "Answer the last question with two settings in turn, side by side.", ("ctrl+g",),
        "compare", in_footer=True),
    Action("regenerate", "regenerate", "Answer the last question, or that of the chosen message, anew.", ("ctrl+r",),
        "regenerate"),
    Action("continue", "continue", "Go on with an answer that was stopped or cut.", ("f6",), "continue"),
    Action("edit", "edit", "Edit the last question, or the chosen one, and branch off there.", ("f7",), "edit"),
    Action("previous_branch", "previous branch", "Show the branch before this one.", ("alt+left",), "previous"),
    Action("next_branch", "next branch", "Show the branch after this one.", ("alt+right",), "next"),
    Action("previous_message", "message before", "Choose the message before: to copy, edit, regenerate, or see its "
        "figures.", ("alt+up",), "up"),
    Action("next_message", "message after", "Choose the message after.", ("alt+down",), "down"),
    Action("copy_answer", "copy answer", "Copy the last answer, or the chosen message.", ("ctrl+y",), "copy"),
    Action("copy_code", "copy code", "Copy a block of code: the last one, or that of the number.", ("f8",), "code",
        "number"),
    Action("copy_conversation", "copy conversation", "Copy the whole conversation as Markdown.", (), "copy-all"),
    Action("fold_thinking", "thinking", "Show or fold what the model thought.", ("f9",), "thinking"),
    Action("attach", "attach a file", "Attach a text file to the question.", ("ctrl+o",), "attach", "file"),
    Action("new", "new conversation", "Begin another conversation.", ("ctrl+n",), "new"),
    Action("conversations", "conversations", "Find, open, rename or delete a conversation.", ("f5",), "conversations",
        "words"),
    Action("rename", "rename", "Give the conversation another title.", (), "rename", "title"),
    Action("system", "system prompt", "Show or set the system prompt.", (), "system", "text"),
    Action("export", "export", "Write the conversation to a file: Markdown, or JSON when it ends in .json.", (),
        "export", "file"),
    Action("pairs", "pairs", "Choose a pair of models, or pull one.", ("f4",), "pairs"),
    Action("settings", "settings", "Sampling, drafting, context.", ("f3",), "settings"),
    Action("toggle_readout", "readout", "Show or hide the figures.", ("f2",), "readout"),
    Action("explain_readout", "what the figures mean", "Go through the figures, each with its meaning.", (), "figures"),
    Action("restart_engine", "restart the engine", "Start the engine again and load the pair.", ("f10",), "restart"),
    Action("theme", "theme", "Change the colours.", (), "theme", "name"),
    Action("help", "help", "Show the keys and commands.", ("f1",), "help", in_footer=True),
    Action("palette", "commands", "Find a command by its name.", ("ctrl+p",), in_footer=True),
    Action("quit", "quit", "Leave; the conversation is kept.", ("ctrl+q",), "quit", in_footer=True),
)  # fmt: skip


BY_SLASH = {action.slash: action for action in ACTIONS if action.slash}
"""The actions by their slash command."""
