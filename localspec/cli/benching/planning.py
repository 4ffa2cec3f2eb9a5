"""From options to a plan: arms, tasks, and the models of every arm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from localspec import locations
from localspec.bench.arms import Arm, parse_arms
from localspec.bench.plan import ArmPlan, Plan
from localspec.bench.task_files import built_in_tasks, chosen_tasks, read_tasks
from localspec.cli.models import choose_models
from localspec.decoding.acceptance import rule_for
from localspec.decoding.draft_length import AUTO
from localspec.decoding.drafter_names import CHOSEN, NEEDS_MODEL
from localspec.engine.messages import LoadPair
from localspec.errors import UsageError
from localspec.settings import Settings, Sources
from localspec.settings.choice import Choice
from localspec.terminal import Terminal

DEFAULTS: dict[str, object] = {"temperature": 0.0, "seed": 1, "max_tokens": 128, "speculation": True}
"""Stronger than config.toml and than what a pair recommends: a benchmark is the same wherever it is made."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person asked for.

    Attributes:
        arms: as written.
        tasks: a file; None for the built-in ones.
        kinds: kinds of tasks; none for all.
        limit: tasks of a kind; None for all.
        runs: how often.
    """

    arms: str
    tasks: Path | None
    kinds: tuple[str, ...]
    limit: int | None
    runs: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, and the models it needs.

    Attributes:
        plan: what to do.
        loading: how to load each pair, by its name in the plan.
    """

    plan: Plan
    loading: dict[str, LoadPair]


def make_plan(wanted: Wanted, sources: Sources, terminal: Terminal) -> Prepared:
    """Decide on everything; nothing is loaded yet.

    Raises:
        UsageError: an arm, a kind or a setting that cannot be.
        LocalspecError: a pair is not on this machine.
    """
    arms = parse_arms(wanted.arms)
    found = read_tasks(wanted.tasks) if wanted.tasks else built_in_tasks()
    tasks = chosen_tasks(found, wanted.kinds, wanted.limit)
    sources = Sources(sources.flags, {**DEFAULTS, **sources.environment}, sources.file)
    choices: dict[str | None, Choice] = {}
    for arm in arms:
        if arm.pair not in choices:
            # An arm may guess with a draft that the settings have no use for.
            choices[arm.pair] = choose_models(_naming(arm.pair, sources), terminal, draft_always=True)
    settings = next(iter(choices.values())).settings
    plan = Plan(
        tasks=tasks,
        arms=tuple(_arm_plan(arm, choices[arm.pair]) for arm in arms),
        runs=wanted.runs,
        max_tokens=settings.max_tokens or int(str(DEFAULTS["max_tokens"])),
        system=settings.system,
        tasks_name=wanted.tasks.name if wanted.tasks else "built in",
    )
    loading = {choice.name: _loading(choice, plan) for choice in choices.values()}
    return Prepared(plan, loading)


def _naming(pair: str | None, sources: Sources) -> Sources:
    """The sources with another pair named first; None leaves them."""
    if pair is None:
        return sources
    others = {name: value for name, value in sources.flags.items() if name not in {"target", "draft"}}
    return Sources({**others, "pair": pair}, sources.environment, sources.file)


def _loading(choice: Choice, plan: Plan) -> LoadPair:
    """How to load a pair for its arms: its draft if settings or arms may use it, its costs if an arm asks for them."""
    guessing = [arm.speculation for arm in plan.arms if arm.pair == choice.name and arm.speculation.speculates]
    drafts = choice.settings.needs_draft or any(each.drafter in {CHOSEN, *NEEDS_MODEL} for each in guessing)
    automatic = any(each.draft_length == AUTO for each in guessing)
    return replace(choice.loading, draft=choice.loading.draft if drafts else None, costs=automatic)


def _arm_plan(arm: Arm, choice: Choice) -> ArmPlan:
    """The settings of an arm.

    Raises:
        UsageError: they contradict each other, or the arm needs a draft that there is not.
    """
    settings: Settings = choice.settings
    speculation = arm.speculation(settings.speculating(with_draft=choice.loading.draft is not None))
    guesses = arm.speculates and speculation.draft_length != 0
    if guesses and (arm.drafter or settings.drafter) == "none":
        raise UsageError(
            f"The arm {arm.name} guesses nothing",
            "The drafter of these settings is none.",
            "Name one in the arm, as in auto+ngram, or with --drafter.",
        )
    alone = choice.loading.draft is None
    if guesses and alone and speculation.drafter in {"none", *NEEDS_MODEL}:
        raise UsageError(
            f"The arm {arm.name} needs a draft model",
            f"{choice.name} has none.",
            "Name one with --draft, or choose a pair.",
        )
    if arm.speculates and speculation.drafter == "pruned" and not _drafts_with_own_layers(choice):
        raise UsageError(
            f"The arm {arm.name} needs a draft made of the target's own layers",
            f"That of {choice.name} is not.",
            "`localspec prune` makes one, and a pair of it: name that with pair=NAME.",
        )
    sampling = arm.sampling(settings.sampling())
    try:
        rule_for(speculation.acceptance, sampling, speculation.drafter)
    except ValueError as error:
        words = str(error)
        raise UsageError(f"The arm {arm.name} cannot be", f"{words[:1].upper()}{words[1:]}.") from error
    return ArmPlan(arm, choice.name, sampling, speculation)


def _drafts_with_own_layers(choice: Choice) -> bool:
    draft = choice.loading.draft
    return draft is not None and locations.is_pruned_draft(draft.path)
