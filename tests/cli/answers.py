"""Made-up results of the engine, for what only arranges them."""

from localspec.chat.events import AnswerEnd, AnswerRound, AnswerToken
from localspec.decoding.outlook import Outlook
from localspec.decoding.rounds import Finish, Origin
from localspec.decoding.statistics import DecodingStatistics


def end(text: str = "yes", **changes: object) -> AnswerEnd:
    """An answer of 14 tokens in 5 rounds, of which 9 of 12 guesses were kept."""
    values: dict[str, object] = {
        "finish": Finish.END,
        "text": text,
        "prompt_tokens": 1234,
        "reused_tokens": 1000,
        "prompt_seconds": 0.5,
        "time_to_first_token": 0.25,
        "statistics": DecodingStatistics(
            rounds=5,
            emitted=14,
            drafted=12,
            accepted=9,
            drafted_at=(5, 4, 3),
            accepted_at=(4, 3, 2),
            origins=(("draft", 9), ("bonus", 3), ("correction", 2)),
            seconds=2.0,
            target_seconds=1.25,
            draft_seconds=0.5,
            by_source=(("model", 8, 5), ("ngram", 4, 4)),
            judged=11,
            judged_kept=9,
            judged_expected=8.25,
        ),
        "seed": 7,
        "acceptance": "rejection",
        "lossless": True,
        "context_used": 1247,
        "context_size": 4096,
        "drafter": "hybrid",
        "draft_length": "auto",
        "outlook": Outlook(0.75, 0.5, 3, 1.5),
    }
    return AnswerEnd(**{**values, **changes})  # type: ignore[arg-type] # the fields above


def shown(*pieces: tuple[str, bool]) -> AnswerRound:
    """A round that brought these (text, thinking) tokens."""
    tokens = tuple(AnswerToken(i, text, Origin.PLAIN, thinking) for i, (text, thinking) in enumerate(pieces))
    return AnswerRound(tokens, 0, (), (), 0.1, len(tokens))
