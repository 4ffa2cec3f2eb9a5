"""What is asked: tasks of a benchmark, first turns only, in the very tokens that both programs read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.bench.task_files import Task, built_in_tasks, chosen_tasks, read_tasks
from localspec.chat.events import Message, Role
from localspec.chat.prompt import PromptWriter, Transcript
from localspec.chat.template import ChatTemplate
from localspec.errors import UsageError
from localspec.llama.model import Model, ModelOptions
from localspec.llama.tokenizer import Tokenizer

BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt.

    Attributes:
        id: of the task.
        category: kind of the task.
        text: what the person says.
        tokens: the conversation up to where the answer begins, by localspec's own template.
        stop: texts that end an answer.
        end_tokens: tokens that end an answer.
    """

    id: str
    category: str
    text: str
    tokens: tuple[int, ...]
    stop: tuple[str, ...]
    end_tokens: frozenset[int]


def read_all_tasks(names: Sequence[str], categories: Sequence[str], per_category: int | None) -> tuple[Task, ...]:
    """The first turns of the tasks in all files named, category by category in turns.

    Args:
        names: files in Spec-Bench's form, or "built-in".
        categories: names of categories; none for all.
        per_category: most prompts of a category; None for all.

    Raises:
        UsageError: a file cannot be read, two tasks share an id, or there is no such category.
    """
    tasks = [task for name in names for task in (built_in_tasks() if name == BUILT_IN else read_tasks(Path(name)))]
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UsageError(f"Two tasks are called {task.id}", "", "Name each file of tasks once.")
        seen.add(task.id)
    return chosen_tasks([replace(task, turns=task.turns[:1]) for task in tasks], categories, per_category)


def questions(target: Path, tasks: Iterable[Task]) -> tuple[Question, ...]:
    """The tasks in the target's tokens.

    Raises:
        LocalspecError: the file has no vocabulary, or its template refuses.
    """
    with Model(target, ModelOptions(vocabulary_only=True)) as model:
        tokenizer = Tokenizer(model)
        template = ChatTemplate(model.chat_template, tokenizer.special_texts, tokenizer.bos_text, tokenizer.eos_text)
        writer = PromptWriter(template, tokenizer)
        made = []
        for task in tasks:
            prompt = writer.write((Message(Role.USER, task.turns[0]),))
            ids = Transcript(tokenizer).encode(writer.text(prompt), prompt.barrier)
            made.append(Question(task.id, task.kind, task.turns[0], tuple(ids), template.stop, tokenizer.end_tokens))
    return tuple(made)


def that_fit(asked: Iterable[Question], room: int) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """The questions of at most `room` tokens, and the others.

    Raises:
        UsageError: none fits.
    """
    found: tuple[list[Question], list[Question]] = ([], [])
    for question in asked:
        found[len(question.tokens) > room].append(question)
    if not found[0]:
        raise UsageError("No prompt fits the context with an answer", "", "Raise --context, or lower --tokens.")
    return tuple(found[0]), tuple(found[1])
