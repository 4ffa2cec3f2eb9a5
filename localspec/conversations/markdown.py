"""A conversation as Markdown, to be read: the branch that is shown, with what was thought and what each answer cost."""

from __future__ import annotations

import re
from datetime import datetime

from localspec.chat.events import Role
from localspec.chat.thinking import split_thinking
from localspec.conversations.conversation import AnswerFacts, Conversation, Entry, fenced
from localspec.decoding.rules import lossy_words
from localspec.terminal import visible

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<rest>.*)")

_ENDINGS = {
    "writing": "The program ended while this was written.",
    "cancelled": "Stopped.",
    "length": "Cut at the limit of tokens.",
    "context": "Cut: the context was full.",
}


def as_markdown(conversation: Conversation) -> str:
    """The branch that is shown; no text in it ends the frame it stands in, or could steer a terminal."""
    about = conversation.about
    begun = f"{datetime.fromtimestamp(about.created).astimezone():%Y-%m-%d %H:%M}"
    parts = [f"# {_line(about.title) or 'Conversation'}", f"*{' · '.join(filter(None, [begun, _line(about.pair)]))}*"]
    if about.system:
        parts += ["## System prompt", fenced(visible(about.system))]
    for entry in conversation.path:
        parts += _question(entry) if entry.role is Role.USER else _answer(entry)
    return "\n\n".join(parts) + "\n"


def _question(entry: Entry) -> list[str]:
    files = [f"**{_line(file.name)}**\n\n{fenced(visible(file.text))}" for file in entry.attachments]
    return ["## You", *files, *filter(None, [_fences_closed(visible(entry.text))])]


def _answer(entry: Entry) -> list[str]:
    facts = entry.facts or AnswerFacts(finish="end")
    thought, said = split_thinking(visible(entry.text))
    parts = [f"## {_line(facts.target) or 'Answer'}"]
    if thought:
        seconds = "" if facts.thinking_seconds is None else f" for {facts.thinking_seconds:.1f} s"
        parts.append("\n".join(f"> {line}".rstrip() for line in (f"*Thought{seconds}*", "", *thought.split("\n"))))
    ending = f"Failed: {_line(facts.error)}" if facts.finish == "failed" else _ENDINGS.get(facts.finish, "")
    remarks = [f"*{remark}*" for remark in (ending, _figures(facts)) if remark]
    return [*parts, *filter(None, [_fences_closed(said)]), *remarks]


def _figures(facts: AnswerFacts) -> str:
    """What the answer cost, on one line; "" when nothing was written."""
    statistics = facts.statistics
    if not statistics.emitted:
        return ""
    parts = [f"{statistics.emitted:,} tokens"]
    if statistics.tokens_per_second is not None:
        parts.append(f"{statistics.tokens_per_second:.1f} tokens/s")
    if statistics.acceptance is not None:
        parts.append(f"{statistics.acceptance:.0%} of {statistics.drafted:,} guesses kept")
    if statistics.tau is not None:
        parts.append(f"{statistics.tau:.2f} tokens per pass")
    if facts.draft:
        parts.append(f"guessed by {_line(facts.draft)}")
    if not facts.lossless:
        parts.append(lossy_words(facts.acceptance))
    return " · ".join(parts)


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def _fences_closed(text: str) -> str:
    """The text with the fence closed that a stopped answer leaves open: it would take in all that follows."""
    text = text.strip("\n")
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        marks, rest = found["marks"], found["rest"]
        if not fence:
            # What stands between backticks on one line is code in a line of text.
            fence = "" if marks[0] == "`" in rest else marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text
