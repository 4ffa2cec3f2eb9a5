"""One prompt, one answer."""

from __future__ import annotations

from localspec.cli.answer_json import answer_as_json
from localspec.cli.answering import answer, load, request_for
from localspec.cli.conversation import Conversation
from localspec.cli.figures import figures_of_answer
from localspec.decoding.rounds import Finish
from localspec.engine.client import EngineClient
from localspec.engine.messages import LoadPair
from localspec.errors import INTERRUPTED
from localspec.settings import Settings
from localspec.terminal import Terminal


def answer_once(prompt: str, settings: Settings, loading: LoadPair, terminal: Terminal, *, as_json: bool) -> int:
    """Answer `prompt` and leave.

    Returns:
        0, or 130 when the person stopped the answer.

    Raises:
        LocalspecError: there is no answer, or only the part of it that was shown.
    """
    conversation = Conversation(settings.system, settings.drop_oldest)
    conversation.ask(prompt)
    with EngineClient() as client:
        loaded = load(client, loading, terminal)
        request = request_for(conversation, settings, loaded)
        answered = answer(client, request, terminal, show=not as_json)
    if as_json:
        terminal.write(answer_as_json(request, answered, loading, loaded))
        terminal.end_answer()
    if answered.error is not None:
        raise answered.error
    if answered.end is not None and answered.end.finish is Finish.CONTEXT:
        terminal.note(f"The context is full ({answered.end.context_size:,} tokens): the answer stops here.")
    if settings.stats and answered.end is not None:
        terminal.note(figures_of_answer(answered.end))
    return INTERRUPTED if answered.interrupted else 0
