"""`localspec chat` when no model is named and none is pulled: a pair to pull, else the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.cli.asking import ask_yes, person_is_there
from localspec.cli.failures import words_of
from localspec.cli.pairs.layout import print_words, sentence
from localspec.cli.pairs.pulling import check, fetch, plan_words
from localspec.errors import DownloadStoppedError, LocalspecError
from localspec.pairs import demo
from localspec.pairs.reachability import check_hub
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from localspec.pairs.choosing import FirstChoice
    from localspec.pairs.pair import Pair
    from localspec.pairs.pull import PullPlan
    from localspec.terminal import Terminal


def tell_that_demo_answers(terminal: Terminal, why: str = "") -> None:
    """Say that the demo pair answers, `why`, and what not to expect of it; in one line where no person reads it."""
    text = f"{why}The demo pair shows how speculation works: expect neither a good answer nor a great speed-up."
    terminal.note("\n".join(sentence(text)) if terminal.shows_notes else text)


def pair_to_pull(choice: FirstChoice, terminal: Terminal) -> Pair | None:
    """The proposed pair, pulled, if a person is there and agrees; None for the demo. Until then the hub is not asked.

    Raises:
        LocalspecError: a pull that the person wanted failed or was stopped.
    """
    plan = _agreed_plan(choice, terminal) if person_is_there() else None
    return None if plan is None else fetch(plan, terminal).pair


def why_demo_answers(proposal: Pair) -> str:
    """Why the demo pair answers, and how to have a real one, ending with a space.

    Raises:
        LocalspecError: not even the demo is here.
    """
    command = f"localspec pull {proposal.name}"
    if demo.find_demo_target() is None:
        raise LocalspecError(
            "There is no model to talk to",
            "No pair is pulled, and the demo's model is not installed.",
            f"Pull a pair: {command}\nOr install the demo's model: {demo.install_command()}",
        )
    size = f" ({gigabytes(proposal.bytes)})" if proposal.bytes else ""
    return f"No pair is pulled, so the demo pair answers; `{command}`{size} fetches a real one. "


def _agreed_plan(choice: FirstChoice, terminal: Terminal) -> PullPlan | None:
    """What to fetch, once the person agreed and the checks did; None when one of them did not.

    Raises:
        DownloadStoppedError: Ctrl-C.
    """
    proposal = choice.proposal
    words = f"No pair of models is on this machine yet. For its memory localspec proposes {proposal.name}:"
    print_words([*sentence(words), *sentence(choice.proposal_words, "  ")])
    if not ask_yes("Pull it now? Without it the demo pair answers.", default=False):
        return None
    try:
        terminal.status("asking the hub")
        check_hub(proposal.target)
        plan = check(proposal, None, terminal)
    except DownloadStoppedError:
        raise
    except LocalspecError as error:
        # Whatever keeps the pair away, a person who came to chat can.
        terminal.note(words_of(error))
        return None
    print_words(plan_words(plan))
    return plan
