"""Which models answer in `localspec chat`: decided by localspec.settings.choice, asked and told here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.cli.first_run import pair_to_pull, tell_that_demo_answers, why_demo_answers
from localspec.pairs import demo
from localspec.pairs.choosing import FirstChoice
from localspec.settings.choice import choice_of_demo, choice_of_pair, first_choice_without_asking

if TYPE_CHECKING:
    from localspec.pairs.progress import PullProgress
    from localspec.settings import Sources
    from localspec.settings.choice import Choice
    from localspec.terminal import Terminal


def choose_models(sources: Sources, terminal: Terminal, *, draft_always: bool = False) -> Choice:
    """Decide on all settings and on the files, and tell the person what they did not decide themselves.

    With nothing named and nothing pulled, a pair is proposed to a person at a terminal; anywhere else, and to who
    declines, the demo pair answers.

    Args:
        sources: what was set before the program ran.
        terminal: asks and tells.
        draft_always: load the draft also where these settings have no use for it.

    Raises:
        UsageError: there is no such pair, or the settings contradict each other.
        LocalspecError: the pair's files are not on this machine, or could not be fetched.
    """

    def report(progress: PullProgress) -> None:
        terminal.status(progress.words)

    choice = first_choice_without_asking(sources, report, draft_always=draft_always)
    if isinstance(choice, FirstChoice):
        pulled = pair_to_pull(choice, terminal)
        if pulled is not None:
            choice = choice_of_pair(sources, pulled, report, draft_always=draft_always)
        else:
            tell_that_demo_answers(terminal, why_demo_answers(choice.proposal))
            choice = choice_of_demo(sources, draft_always=draft_always)
    elif choice.name == demo.NAME:
        tell_that_demo_answers(terminal)
    elif not sources.models:
        terminal.note(f"No pair is named: {choice.name} answers, the best one that is pulled and fits.")
    if choice.trouble:
        terminal.note(choice.trouble)
    return choice
