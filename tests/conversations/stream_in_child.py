"""Hands an answer over as it grows, as the app does at each frame, and prints what it handed over when; for ever."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from localspec.chat.events import Role
from localspec.conversations.conversation import AnswerFacts
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from tests.conversations.talks import round_of, said

FRAME_SECONDS = 0.02


def main():
    saver = Saver(ConversationStore(Path(sys.argv[1])))
    conversation = said("question")
    saver.about(conversation.about, conversation.head.id, time.time())
    saver.entry(conversation.about.id, conversation.head)
    answer = conversation.add(Role.ASSISTANT, "", parent=conversation.head.id, facts=AnswerFacts())
    saver.about(conversation.about, answer.id, time.time())
    saver.entry(conversation.about.id, answer)
    for words in range(1, 1_000_000):
        text = f"{words} "
        saver.rounds(answer.id, [round_of(text)])
        answer = conversation.change(answer.id, text=answer.text + text, facts=AnswerFacts())
        saver.entry(conversation.about.id, answer)
        print(json.dumps({"words": words, "at": time.monotonic()}), flush=True)
        time.sleep(FRAME_SECONDS)


if __name__ == "__main__":
    main()
