"""The line conversation: questions, answers, a few commands, and what to do when something ends."""

from __future__ import annotations

import sys
from collections.abc import Callable

from localspec import locations
from localspec.chat.events import AnswerEnd
from localspec.cli.answering import Answered, answer, load, request_for
from localspec.cli.conversation import Conversation
from localspec.cli.failures import words_of
from localspec.cli.figures import figures_in_full, figures_of_answer
from localspec.cli.line_reader import LineReader
from localspec.cli.pairs.layout import sentence
from localspec.decoding.acceptance import rule_for
from localspec.decoding.rounds import Finish
from localspec.decoding.rules import lossy_words
from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded, LoadPair
from localspec.errors import INTERRUPTED, ContextFullError, EngineDiedError, LocalspecError
from localspec.settings import Settings
from localspec.terminal import Terminal

_HELP = """\
/new              forget the conversation and begin another
/regenerate       answer the last question anew
/system [TEXT]    show the system prompt, or set it
/stats            the figures of the last answer
/exit             leave (so does Ctrl-D)
A line that ends in \\ goes on in the next one.
// at the start of a line is a single / of a question.
Ctrl-C stops an answer, a second one in a row leaves."""

_CHOICE = "[g]o on without the oldest turns, [n]ew conversation, [l]eave? "


def converse(settings: Settings, loading: LoadPair, terminal: Terminal) -> int:
    """Hold a conversation until stdin ends or the person leaves.

    Returns:
        0, or 130 when Ctrl-C ended it.

    Raises:
        LocalspecError: the models could not be loaded or, where no person is there to choose, an answer failed.
    """
    if sys.stdin is None:
        return 0
    reader = LineReader(locations.prompt_history_file())
    with EngineClient() as client:
        return Repl(client, settings, loading, terminal, reader).run()


class _LeaveError(Exception):
    """The person chose to leave."""


class Repl:
    """One conversation at a time, over one engine that is started again when it dies."""

    def __init__(
        self, client: EngineClient, settings: Settings, loading: LoadPair, terminal: Terminal, reader: LineReader
    ) -> None:
        """Prepare; nothing is loaded yet."""
        self._client = client
        self._settings = settings
        self._loading = loading
        self._terminal = terminal
        self._reader = reader
        self._conversation = Conversation(settings.system, settings.drop_oldest)
        self._loaded: Loaded | None = None
        self._last: AnswerEnd | None = None
        self._interrupted = False
        self._commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: terminal.note(_HELP),
            "/new": self._new,
            "/regenerate": self._regenerate,
            "/system": self._system,
            "/stats": self._stats,
            "/exit": self._leave,
            "/quit": self._leave,
        }

    def run(self) -> int:
        """Read, answer, repeat; see `converse`."""
        loaded = self._ready()
        if self._reader.person:
            # File names tell two quantisations apart; the names inside the files are often the same, or odd.
            draft = self._loading.draft
            guesses = f", {draft.path.stem} guesses" if draft else ""
            words = f"{self._loading.target.path.stem} answers{guesses}.\n/help lists the commands."
            self._terminal.note("\n".join(sentence(words)))
        if loaded.draft and not rule_for(self._settings.acceptance, self._settings.sampling()).lossless:
            self._terminal.note(lossy_words(self._settings.acceptance))
        while True:
            try:
                self._take(self._reader.read())
            except (EOFError, _LeaveError):
                return 0
            except KeyboardInterrupt:
                self._terminal.note("")
                if self._reader.unfinished:
                    continue
                if self._interrupted:
                    return INTERRUPTED
                self._interrupted = True
                self._terminal.note("Ctrl-C once more leaves.")
            except LocalspecError as error:
                if not self._reader.person:
                    raise
                self._terminal.note(words_of(error))

    def _take(self, text: str) -> None:
        """Carry out a command, or answer a question."""
        self._interrupted = False
        word, _, rest = text.strip().partition(" ")
        if word in self._commands:
            self._commands[word](rest.strip())
        elif word.startswith("/") and word[1:].isalpha() and "\n" not in text:
            self._terminal.note(f"There is no command {word}; /help lists them. To ask it all the same, begin with //.")
        elif word:
            self._conversation.ask(text[1:] if text.startswith("//") else text)
            self._answer()

    def _answer(self) -> None:
        """Answer the conversation as it stands; what came is kept, however it ended.

        Raises:
            LocalspecError: it failed.
        """
        while True:
            loaded = self._ready()
            # Ctrl-C reaches `run` from inside an answer only when it is the second one.
            self._interrupted = True
            answered = answer(self._client, request_for(self._conversation, self._settings, loaded), self._terminal)
            self._conversation.keep(answered.whole)
            self._interrupted = answered.interrupted
            if answered.end is not None:
                self._last = answered.end
                if self._settings.stats:
                    self._terminal.note(figures_of_answer(answered.end))
            if not self._is_full(answered) or not self._makes_room(answered):
                break
        if isinstance(answered.error, EngineDiedError):
            self._loaded = None
            self._terminal.note("What had come is kept. The engine starts again with your next message.")
        if answered.error is not None:
            raise answered.error

    def _ready(self) -> Loaded:
        """Load the pair, unless it is; start the engine again when it died.

        Raises:
            LocalspecError: it cannot be loaded.
        """
        if self._loaded is None or not self._client.alive:
            self._client.start()
            self._loaded = load(self._client, self._loading, self._terminal)
        return self._loaded

    def _is_full(self, answered: Answered) -> bool:
        finish = answered.end.finish if answered.end else None
        return isinstance(answered.error, ContextFullError) or finish is Finish.CONTEXT

    def _makes_room(self, answered: Answered) -> bool:
        """Let the person choose what a full context means; whether to ask again."""
        dropping = self._conversation.drop_oldest
        alone = self._conversation.turns <= (1 if answered.error else 2)
        if answered.end is not None:
            if dropping and answered.whole and not alone:
                return True
            self._terminal.note(f"The context is full ({answered.end.context_size:,} tokens): the answer stops here.")
        if alone or dropping or not self._reader.person:
            return False
        if answered.error is not None:
            self._terminal.note(words_of(answered.error))
        return self._chosen(answered)

    def _chosen(self, answered: Answered) -> bool:
        while True:
            choice = self._reader.ask(_CHOICE).strip().lower()
            if choice in {"g", "go", "go on"}:
                self._conversation.drop_oldest = True
                return True
            if choice in {"n", "new"}:
                # A question that did not fit is the first one of the new conversation.
                self._conversation.clear(keep_question=answered.error is not None)
                answered.error = None
                self._terminal.note("A new conversation.")
                return self._conversation.turns > 0
            if choice in {"l", "leave"}:
                raise _LeaveError

    def _new(self, _: str) -> None:
        self._conversation.clear()
        self._conversation.drop_oldest = self._settings.drop_oldest
        self._terminal.note("A new conversation.")

    def _regenerate(self, _: str) -> None:
        if not self._conversation.turns:
            self._terminal.note("There is no question yet.")
            return
        self._conversation.take_back_answer()
        self._answer()

    def _system(self, text: str) -> None:
        if text:
            self._conversation.system = text
        self._terminal.note(self._conversation.system or "There is no system prompt of yours.")

    def _stats(self, _: str) -> None:
        self._terminal.note(figures_in_full(self._last) if self._last else "There is no answer yet.")

    def _leave(self, _: str) -> None:
        raise _LeaveError
