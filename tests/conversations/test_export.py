"""What is exported holds all that was said, and no text in it breaks out of its place."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, replace
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from localspec.chat.events import Role
from localspec.conversations.conversation import About, AnswerFacts, Attachment, Conversation
from localspec.conversations.export import SCHEMA, as_json, as_markdown, export_to
from localspec.decoding.statistics import DecodingStatistics
from localspec.errors import FileExistsAlreadyError, LocalspecError
from tests.conversations.talks import FACTS, branching, round_of, said

HOSTILE = [
    "```python\nprint('never closed')",
    "~~~\n```\nstill in the tildes",
    "````\n```\n# no heading",
    "``` `not a fence` \ntext",
    "a\0b\x1b[2J\x9b\u202ex\r\ny\rz",
    "half \ud83d",
    "    indented\n\n\ttab",
    "# heading of theirs\n\n> quote",
    "<think>\n```\nnever closed\n# no heading\n</think>\nsaid",
    "<think>only thought, and stopped",
    "",
]


def no_rounds(_):
    return ()


def headings(markdown):
    """The text of the headings that stand in no frame."""
    tokens = MarkdownIt("commonmark").parse(markdown)
    return [
        content.content
        for heading, content in pairwise(tokens)
        if heading.type == "heading_open" and heading.level == 0
    ]


def fences(markdown):
    return [token.content for token in MarkdownIt("commonmark").parse(markdown) if token.type == "fence"]


def test_json_holds_every_branch_and_who_wrote_each_token():
    conversation = branching()
    rounds = {conversation.head.id: (round_of("It", " drops"), round_of(" the"))}
    document = json.loads(as_json(conversation, lambda entry_id: rounds.get(entry_id, ())))
    assert document["schema"] == SCHEMA == 2
    about = asdict(conversation.about)
    assert {key: document[key] for key in about} == about
    assert document["head"] == conversation.head.id
    assert [entry["id"] for entry in document["entries"]] == [entry.id for entry in conversation.entries]
    question, first, second, later = document["entries"]
    assert question["parent"] is None
    assert question["attachments"] == [{"name": "a b.py", "text": 'x = "1"\n'}]
    assert question["facts"] is None
    assert question["rounds"] is None
    assert first["parent"] == second["parent"] == question["id"]
    assert later["parent"] == first["id"]
    assert first["facts"]["seed"] == 2**63 + 1
    assert first["facts"]["statistics"]["origins"] == {"draft": 4, "correction": 3}
    assert first["facts"]["statistics"]["by_source"]["model"] == {"drafted": 6, "accepted": 1}
    assert first["rounds"] == []
    assert second["facts"]["finish"] == "cancelled"
    assert second["rounds"][0] == {
        "path": [0],
        "parents": [],
        "tokens": [
            {"id": 0, "text": "It", "origin": "draft", "thinking": False},
            {"id": 1, "text": " drops", "origin": "correction", "thinking": False},
        ],
        "drafted": 3,
        "accepted": 1,
        "sources": ["ngram", "model", "model"],
        "predicted": [0.9, 0.75, 0.5],
        "seconds": 0.0625,
        "context_used": 17,
        "target_seconds": 0.05,
        "draft_seconds": 0.01,
    }


def test_json_has_an_entry_a_line_and_nothing_that_steers_a_terminal():
    conversation = said(*HOSTILE)
    text = as_json(conversation, no_rounds)
    assert len(text.split("\n")) == len(HOSTILE) + 3
    assert all(character == "\n" or character.isprintable() for character in text)
    assert [entry["text"] for entry in json.loads(text)["entries"]] == HOSTILE


def test_json_of_an_empty_conversation_and_of_numbers_that_json_has_not():
    about = About(settings={"logit_bias": [[7, float("-inf")]], "top_p": float("nan")})
    document = json.loads(as_json(Conversation(about), no_rounds), parse_constant=pytest.fail)
    assert document["entries"] == []
    assert document["head"] is None
    assert document["settings"] == {"logit_bias": [[7, "-inf"]], "top_p": "nan"}


def test_markdown_is_the_branch_that_is_shown():
    conversation = branching()
    conversation.show(conversation.siblings(conversation.head.id)[0].id)
    text = as_markdown(conversation)
    assert headings(text) == ["What is an LRU cache?", "System prompt", "You", "target.gguf", "You"]
    assert "\n\n```\nBe brief.\n```\n\n" in text
    assert '\n\n**a b.py**\n\n```\nx = "1"\n```\n\nWhat is an LRU cache?\n\n' in text
    assert "\n\n> *Thought for 1.5 s*\n>\n> hm\n\nA cache.\n\n" in text
    assert "And LFU?" in text
    assert "drops the oldest" not in text
    assert (
        "\n\n*7 tokens · 14.0 tokens/s · 44% of 9 guesses kept · 2.33 tokens per pass · guessed by draft.gguf · "
        "typical acceptance: NOT the target's distribution*\n\n"
    ) in text


@pytest.mark.parametrize(
    ("facts", "remark"),
    [
        (AnswerFacts(), "The program ended while this was written."),
        (AnswerFacts(finish="cancelled"), "Stopped."),
        (AnswerFacts(finish="length"), "Cut at the limit of tokens."),
        (AnswerFacts(finish="context"), "Cut: the context was full."),
        (AnswerFacts(finish="failed", error="The engine\ndied"), "Failed: The engine died"),
    ],
)
def test_markdown_says_how_an_answer_ended_too_early(facts, remark):
    conversation = said("question")
    conversation.add(Role.ASSISTANT, "ans", parent=conversation.head.id, facts=facts)
    assert as_markdown(conversation).endswith(f"\n\nans\n\n*{remark}*\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_takes_in_what_follows_it_in_markdown(text):
    conversation = Conversation(About(title="Title\n# of two lines", system=text))
    question = conversation.add(Role.USER, text, parent=None, attachments=(Attachment("name\n# x", text),))
    answer = conversation.add(Role.ASSISTANT, text, parent=question.id, facts=FACTS)
    conversation.add(Role.USER, "the end", parent=answer.id)
    markdown = as_markdown(conversation)
    ours = ["Title # of two lines", *(["System prompt"] if text else []), "You", "target.gguf", "You"]
    assert [heading for heading in headings(markdown) if heading != "heading of theirs"] == ours
    assert not set(markdown) & {"\0", "\x1b", "\x9b", "\u202e", "\r", "\ud83d"}
    markdown.encode()


@pytest.mark.parametrize("text", ["```\ncode\n```", "a ``` b", "`````", "~~~\n"])
def test_a_file_with_fences_in_it_stands_in_longer_ones(text):
    conversation = Conversation()
    conversation.add(Role.USER, "explain", parent=None, attachments=(Attachment("a.md", text),))
    assert fences(as_markdown(conversation)) == [text.rstrip() + "\n"]


def test_a_fence_that_is_closed_is_left_alone():
    for text in ("```py\nx\n```", "~~~~\n~~~\n~~~~", "```` \n```\n``` x\n````` ", "none"):
        conversation = said("question", text)
        assert f"\n\n{text}\n\n*7 tokens" in as_markdown(conversation)


def test_an_answer_without_words_or_figures_is_only_named():
    conversation = said("question")
    facts = replace(FACTS, statistics=DecodingStatistics(), finish="end")
    conversation.add(Role.ASSISTANT, "", parent=conversation.head.id, facts=facts)
    assert as_markdown(conversation).endswith("question\n\n## target.gguf\n")


def test_the_name_of_the_file_says_what_is_written(tmp_path):
    conversation = branching()
    export_to(tmp_path / "a.JSON", conversation, no_rounds)
    export_to(tmp_path / "a.md", conversation, no_rounds)
    assert (tmp_path / "a.JSON").read_text("utf-8") == as_json(conversation, no_rounds)
    assert (tmp_path / "a.md").read_bytes().decode() == as_markdown(conversation)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_is_overwritten_only_when_that_is_asked_for(tmp_path):
    path = tmp_path / "talk.md"
    path.write_text("mine")
    path.chmod(0o600)
    with pytest.raises(FileExistsAlreadyError) as caught:
        export_to(path, branching(), no_rounds)
    assert str(path) in caught.value.message
    assert path.read_text() == "mine"
    conversation = branching()
    export_to(path, conversation, no_rounds, overwrite=True)
    assert path.read_text("utf-8") == as_markdown(conversation)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_followed_not_replaced(tmp_path):
    path, link = tmp_path / "talk.md", tmp_path / "link.md"
    path.write_text("mine")
    link.symlink_to(path)
    with pytest.raises(FileExistsAlreadyError):
        export_to(link, branching(), no_rounds)
    export_to(link, branching(), no_rounds, overwrite=True)
    assert link.is_symlink()
    assert path.read_text("utf-8").startswith("# ")


def test_what_is_no_file_is_never_replaced(tmp_path):
    (tmp_path / "folder.md").mkdir()
    for path in (tmp_path / "folder.md", tmp_path, *([os.devnull] if os.name == "posix" else [])):
        with pytest.raises(LocalspecError, match="is not a file"):
            export_to(tmp_path / path, branching(), no_rounds, overwrite=True)


@pytest.mark.parametrize("name", ["missing/talk.md", "file/talk.md", "nul\0.md", "x" * 300])
def test_a_place_that_cannot_be_written_is_told_and_nothing_is_left_there(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(LocalspecError) as caught:
        export_to(tmp_path / name, branching(), no_rounds)
    assert caught.value.title == "The conversation was not exported"
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_export_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "talk.json"
    path.write_text("mine")

    def fail(_):
        raise LocalspecError("The rounds cannot be read")

    with pytest.raises(LocalspecError, match="rounds cannot be read"):
        export_to(path, branching(), fail, overwrite=True)
    assert path.read_text() == "mine"
    assert [left.name for left in tmp_path.iterdir()] == ["talk.json"]
