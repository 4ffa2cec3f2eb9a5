"""One answer: asked of the engine, shown as it comes, kept whatever happens to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from localspec.chat.events import AnswerEnd, AnswerRequest, AnswerRound, PromptProgress
from localspec.chat.thinking import CLOSING, OPENING
from localspec.cli.conversation import Conversation
from localspec.cli.echo import EchoOff
from localspec.cli.interrupts import Interrupts
from localspec.decoding.rounds import Finish
from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded, LoadPair, LoadProgress
from localspec.errors import LocalspecError
from localspec.settings import Settings
from localspec.terminal import Terminal

_WORTH_TELLING = 64
"""Tokens of a prompt from which on reading it takes long enough for a status to be read."""


@dataclass(slots=True)
class Answered:
    """What came of a request.

    Attributes:
        whole: all that came, as the model wrote it.
        text: of that, what was said.
        thinking: of that, what was thought, without the tags around it.
        end: the figures; None when the answer failed.
        error: why it failed.
        interrupted: whether the person stopped it.
    """

    whole: str = ""
    text: str = ""
    thinking: str = ""
    end: AnswerEnd | None = None
    error: LocalspecError | None = None
    interrupted: bool = False
    _thoughts: list[str] = field(default_factory=list)

    def take(self, shown: AnswerRound) -> None:
        """Add what a round brought."""
        for token in shown.tokens:
            self.whole += token.text
            if token.thinking:
                self._thoughts.append(token.text)
            else:
                self.text += token.text

    def finish(self) -> None:
        """Settle what needs the whole."""
        thought = "".join(self._thoughts).strip()
        self.thinking = thought.removeprefix(OPENING).removesuffix(CLOSING).strip()
        if thought:
            self.text = self.text.lstrip("\n")


def load(client: EngineClient, loading: LoadPair, terminal: Terminal) -> Loaded:
    """Load a pair, saying how far it is.

    Raises:
        LocalspecError: it could not be loaded.
        KeyboardInterrupt: the person did not want to wait.
    """
    terminal.status("Starting")
    loaded: Loaded | None = None
    try:
        with EchoOff():
            for event in client.load(loading):
                if isinstance(event, LoadProgress):
                    terminal.status(f"{event.words.capitalize()}: {event.fraction:.0%}")
                else:
                    loaded = event
    finally:
        terminal.clear_status()
    assert loaded is not None  # the last event of a load that did not fail
    for note in loaded.notes:
        terminal.note(note)
    return loaded


def request_for(conversation: Conversation, settings: Settings, loaded: Loaded) -> AnswerRequest:
    """Ask for an answer to the conversation as it stands."""
    sampling = settings.sampling()
    if sampling.seed is not None:
        # The same seed would write the same answer again.
        sampling = replace(sampling, seed=(sampling.seed + conversation.regenerations) % 2**64)
    return AnswerRequest(
        messages=conversation.messages,
        sampling=sampling,
        speculation=settings.speculating(with_draft=loaded.draft is not None),
        max_tokens=settings.max_tokens,
        stop=settings.stop,
        drop_oldest=conversation.drop_oldest,
    )


def answer(client: EngineClient, request: AnswerRequest, terminal: Terminal, *, show: bool = True) -> Answered:
    """Get an answer and show it as it comes.

    A failure is not raised: what had come until then is in the result, beside it.

    Args:
        client: an engine with a pair loaded.
        request: what to answer.
        terminal: where to show it.
        show: False keeps the text from the terminal.

    Raises:
        KeyboardInterrupt: the person pressed Ctrl-C a second time.
    """
    answered = Answered()
    with Interrupts(client.cancel) as interrupts, EchoOff():
        try:
            for event in client.answer(request):
                if isinstance(event, PromptProgress):
                    _tell_progress(event, terminal)
                elif isinstance(event, AnswerEnd):
                    answered.end = event
                else:
                    answered.take(event)
                    if show:
                        for token in event.tokens:
                            terminal.write(token.text, dim=token.thinking)
        except LocalspecError as error:
            answered.error = error
        finally:
            terminal.clear_status()
            if show:
                terminal.end_answer()
        answered.interrupted = interrupts.seen or (answered.end is not None and answered.end.finish is Finish.CANCELLED)
    answered.finish()
    return answered


def _tell_progress(progress: PromptProgress, terminal: Terminal) -> None:
    if progress.total >= _WORTH_TELLING:
        part = progress.evaluated / progress.total
        terminal.status(f"Reading the prompt: {part:.0%} of {progress.total:,} tokens")
