"""Conversations for tests: what a person and a model could have said."""

from __future__ import annotations

from dataclasses import replace

from localspec.chat.events import AnswerRound, AnswerToken, Role
from localspec.conversations.conversation import About, AnswerFacts, Attachment, Conversation
from localspec.decoding.rounds import Origin
from localspec.decoding.statistics import DecodingStatistics

STATISTICS = DecodingStatistics(
    rounds=3,
    emitted=7,
    drafted=9,
    accepted=4,
    drafted_at=(3, 3, 3),
    accepted_at=(2, 1, 1),
    origins=(("draft", 4), ("correction", 3)),
    seconds=0.5,
    target_seconds=0.3,
    draft_seconds=0.1,
    by_source=(("ngram", 3, 3), ("model", 6, 1)),
    judged=7,
    judged_kept=4,
    judged_expected=5.5,
)

FACTS = AnswerFacts(
    finish="end",
    target="target.gguf",
    draft="draft.gguf",
    statistics=STATISTICS,
    time_to_first_token=0.25,
    off_tokens_per_second=9.5,
    thinking_seconds=1.5,
    context_used=120,
    context_size=4096,
    seed=2**63 + 1,
    acceptance="typical",
    lossless=False,
    drafter="hybrid",
    draft_length="auto",
    why="drafts little: it was a try",
)


def round_of(*texts, thinking=False):
    """A round whose last token is the target's own."""
    origins = [Origin.DRAFT] * (len(texts) - 1) + [Origin.CORRECTION]
    tokens = tuple(
        AnswerToken(number, text, origin, thinking)
        for number, (text, origin) in enumerate(zip(texts, origins, strict=True))
    )
    return AnswerRound(
        tokens, 3, tuple(range(len(texts) - 1)), ("ngram", "model", "model"), 0.0625, 17, 0.05, 0.01, (0.9, 0.75, 0.5)
    )


def branching():
    """Two questions, the first answered twice, the second asked on the first answer's branch; all is set somewhere."""
    about = About(system="Be brief.", pair="demo", settings={"temperature": 0.5, "stop": ["x"]}, drop_oldest=True)
    conversation = Conversation(about)
    question = conversation.add(
        Role.USER, "What is an LRU cache?", parent=None, attachments=(Attachment("a b.py", 'x = "1"\n'),)
    )
    first = conversation.add(Role.ASSISTANT, "<think>\nhm\n</think>\n\nA cache.", parent=question.id, facts=FACTS)
    second = conversation.add(
        Role.ASSISTANT, "It drops the oldest.", parent=question.id, facts=replace(FACTS, finish="cancelled")
    )
    conversation.add(Role.USER, "And LFU?", parent=first.id)
    conversation.show(second.id)
    return conversation


def keep(store, conversation, updated=None):
    """Keep all of a conversation."""
    about = conversation.about
    head = conversation.head.id if conversation.head else None
    with store.together():
        store.save_about(about, head, about.created if updated is None else updated)
        for entry in conversation.entries:
            store.save_entry(about.id, entry)


def said(*texts, title=""):
    """A conversation of these texts, questions and answers in turn."""
    conversation = Conversation(About(title=title))
    for number, text in enumerate(texts):
        parent = conversation.head.id if conversation.head else None
        if number % 2:
            conversation.add(Role.ASSISTANT, text, parent=parent, facts=FACTS)
        else:
            conversation.add(Role.USER, text, parent=parent)
    return conversation
