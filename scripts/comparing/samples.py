"""What is written down of each answer, the same for both programs.

Speed counts the tokens after the first pass over the seconds after it, as llama-server itself does: its first token
comes from the pass that reads the prompt, and its clock (`predicted_ms`) starts there. localspec's clock starts when
its first round arrives and stops when the last one does, so what it does between rounds, and the way through the pipe
to the process that asked, is in its time as sampling and bookkeeping are in the server's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request.

    Attributes:
        prompt_tokens: length of the prompt.
        token_ids: what was written, an end token left out.
        tokens: how many tokens were written, an end token included.
        first_pass_tokens: of those, the ones of the first pass.
        seconds: from the first pass's end to the last one's.
        drafted: tokens guessed.
        accepted: guesses kept.
        finish: "end", "length" or another word for why it ended.
    """

    prompt_tokens: int
    token_ids: tuple[int, ...]
    tokens: int
    first_pass_tokens: int
    seconds: float
    drafted: int
    accepted: int
    finish: str

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens after the first pass over seconds after it; None when the first pass was all."""
        counted = self.tokens - self.first_pass_tokens
        return counted / self.seconds if counted and self.seconds > 0 else None


@dataclass(frozen=True, slots=True)
class Cell:
    """What all arms are asked once.

    Attributes:
        category: kind of the prompt.
        prompt_id: which prompt.
        temperature: of the sampling.
        run: 0 for the first run.
    """

    category: str
    prompt_id: str
    temperature: float
    run: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of one arm.

    Attributes:
        side: "server" or "localspec".
        arm: name of the arm.
        cell: what was asked.
        answer: what came of it.
        idle_share: processor time that our other processes took meanwhile, as a share of the machine's: they sleep
            while one works, and this shows it.
        elsewhere_share: the same of all else that ran on the machine.
    """

    side: str
    arm: str
    cell: Cell
    answer: Answer
    idle_share: float
    elsewhere_share: float

    def as_json(self) -> dict[str, Any]:
        """As JSON values, in one level."""
        return {
            "side": self.side,
            "arm": self.arm,
            **asdict(self.cell),
            **asdict(self.answer),
            "token_ids": list(self.answer.token_ids),
            "tokens_per_second": self.answer.tokens_per_second,
            "idle_share": round(self.idle_share, 4),
            "elsewhere_share": round(self.elsewhere_share, 4),
        }
