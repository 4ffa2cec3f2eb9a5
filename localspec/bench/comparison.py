"""Two benchmarks side by side: what was the same, what differed, and which differences of speed are real."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from localspec.bench.document import Document
from localspec.bench.intervals import Ratio, ratio_of_medians
from localspec.bench.records import Record
from localspec.bench.report import mean_ratio, paired_by_prompt
from localspec.errors import UsageError


@dataclass(frozen=True, slots=True)
class Compared:
    """One arm on one kind of task in both benchmarks.

    Attributes:
        arm: name of the arm.
        kind: of the tasks; None for all.
        ratio: tokens/s of the second over the first.
    """

    arm: str
    kind: str | None
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two benchmarks say together.

    Attributes:
        arms: those both have.
        left_out: arms that only one has, or that are not the same in both; with the reason.
        differences: what differs in their environments, one line each.
        rows: the ratios, kind by kind, then over all.
        same_text: by arm, of the answers that both have, how many are the same token by token.
    """

    arms: tuple[str, ...]
    left_out: dict[str, str]
    differences: tuple[str, ...]
    rows: tuple[Compared, ...]
    same_text: dict[str, tuple[int, int]]


def compare(first: Document, second: Document) -> Comparison:
    """Compare the arms that both have.

    Raises:
        UsageError: the two cannot be compared; says why.
    """
    _require_same_questions(first, second)
    arms, left_out = _common_arms(first, second)
    if not arms:
        reasons = "; ".join(f"{arm}: {reason}" for arm, reason in left_out.items())
        raise UsageError("The two benchmarks cannot be compared", f"No arm is the same in both. {reasons}.")
    rows: list[Compared] = []
    for kind in (*(kind for kind in first.kinds if kind in second.kinds), None):
        for arm in arms:
            one, other = (_of(document.records, arm, kind) for document in (second, first))
            ratio = mean_ratio(one, other) if kind is None else ratio_of_medians(paired_by_prompt(one, other))
            if ratio is not None:
                rows.append(Compared(arm, kind, ratio))
    same = {arm: _same_text(_of(first.records, arm, None), _of(second.records, arm, None)) for arm in arms}
    return Comparison(arms, left_out, tuple(_differences(arms, first, second)), tuple(rows), same)


def _require_same_questions(first: Document, second: Document) -> None:
    why = "The two benchmarks cannot be compared"
    one, other = first.plan["tasks"], second.plan["tasks"]
    common = {id_ for id_, digest in one.items() if other.get(id_) == digest}
    if not common:
        raise UsageError(why, "They have no prompt in common.")
    changed = [id_ for id_ in one if id_ in other and id_ not in common]
    if changed:
        raise UsageError(why, f"The prompt {changed[0]} is not the same in both.")
    for name in ("max_tokens", "system"):
        if first.plan[name] != second.plan[name]:
            values = f"{first.plan[name]!r} and {second.plan[name]!r}"
            raise UsageError(why, f"They differ in {name.replace('_', ' ')}: {values}.")


def _common_arms(first: Document, second: Document) -> tuple[tuple[str, ...], dict[str, str]]:
    one, other = first.plan["arms"], second.plan["arms"]
    common, left_out = [], {}
    for arm in dict.fromkeys((*one, *other)):
        if arm not in one or arm not in other:
            left_out[arm] = f"only the {'second' if arm not in one else 'first'} has it"
        elif reason := _difference_of_arms(arm, first, second):
            left_out[arm] = reason
        else:
            common.append(arm)
    return tuple(common), left_out


def _difference_of_arms(arm: str, first: Document, second: Document) -> str:
    """What keeps an arm from being compared; "" when nothing does."""
    one, other = first.plan["arms"][arm], second.plan["arms"][arm]
    for what in ("sampling", "speculation"):
        for name in one[what]:
            if one[what][name] != other[what].get(name):
                return (
                    f"{name.replace('_', ' ')} is {one[what][name]} in the first, {other[what].get(name)} in the second"
                )
    models = first.models[one["pair"]], second.models[other["pair"]]
    for which in ("target", "draft"):
        files = [model[which] or {} for model in models]
        if _identity(files[0]) != _identity(files[1]):
            names = [file.get("file", "none") for file in files]
            return f"other models: the {which} is {names[0]} in the first, {names[1]} in the second"
    return ""


def _identity(file: Mapping[str, Any]) -> object:
    """The hash where there is one, else what the file says of itself."""
    return file.get("sha256") or (file.get("description"), file.get("bytes"), file.get("parameters"))


def _differences(arms: Iterable[str], first: Document, second: Document) -> Iterable[str]:
    """What differs around the same models and prompts, leaf by leaf."""
    # The same files have another name where they were not named as a pair.
    named = ([document.plan["arms"][arm]["pair"] for arm in arms] for document in (first, second))
    for one, other in dict.fromkeys(zip(*named, strict=True)):
        yield from _leaves("", _without_files(first.models[one]), _without_files(second.models[other]))
    yield from _leaves("", first.environment, second.environment)
    if first.plan["runs"] != second.plan["runs"]:
        yield f"runs: {first.plan['runs']} and {second.plan['runs']}"
    for which, document in (("first", first), ("second", second)):
        if not document.complete:
            yield f"the {which} was not completed"


def _without_files(models: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in models.items() if name not in {"target", "draft"}} | {
        f"{which} {name}": (models[which] or {}).get(name)
        for which in ("target", "draft")
        for name in ("device", "gpu_layers")
    }


def _leaves(name: str, one: Any, other: Any) -> Iterable[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            yield from _leaves(f"{name} {key}".strip(), one.get(key), other.get(key))
    elif one != other:
        yield f"{name.replace('_', ' ')}: {_shown(one)} and {_shown(other)}"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _of(records: Iterable[Record], arm: str, kind: str | None) -> list[Record]:
    return [record for record in records if record.arm == arm and kind in {None, record.category}]


def _same_text(one: Iterable[Record], other: Iterable[Record]) -> tuple[int, int]:
    texts = {record.key: record.token_ids for record in one}
    both = [record for record in other if record.key in texts]
    return sum(texts[record.key] == record.token_ids for record in both), len(both)
