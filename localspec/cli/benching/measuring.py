"""Carry a plan out with a progress line; report whatever was measured, however it ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localspec.bench.document import Document, now, write_document, write_file
from localspec.bench.energy import EnergyMeter
from localspec.bench.environment import hashes_of, machine_now, memory_of, models_of
from localspec.bench.html.page import page_of
from localspec.bench.journal import Journal, begin_journal, check_resumable, resume_journal
from localspec.bench.report import report_of
from localspec.bench.runner import Runner, Step
from localspec.bench.tables import report_lines, seconds_in_words
from localspec.cli.answering import load
from localspec.cli.benching.planning import Prepared
from localspec.cli.echo import EchoOff
from localspec.cli.interrupts import Interrupts
from localspec.cli.pairs.layout import print_words
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.engine.client import EngineClient
from localspec.engine.messages import Loaded
from localspec.errors import INTERRUPTED, LocalspecError, UsageError
from localspec.terminal import Terminal

WIDEST_MEASURED = 9
"""Tokens of the widest pass that is timed, at least: beyond it a draft hardly pays anywhere."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write.

    Attributes:
        json: the document; None for none.
        html: the page; None for none.
    """

    json: Path | None
    html: Path | None

    def check(self) -> None:
        """Refuse now what could not be written after an hour.

        Raises:
            UsageError: a folder that is not there.
        """
        for path in filter(None, (self.json, self.html)):
            if not path.absolute().parent.is_dir() or path.is_dir():
                raise UsageError(f"{path} cannot be written", "There is no such folder, or it is one.")

    def write(self, document: Document, arms: Prepared) -> list[str]:
        """Write them, and return the report in words.

        Raises:
            LocalspecError: one cannot be written.
        """
        report = report_of(document.records, [plan.arm for plan in arms.plan.arms], arms.plan.kinds)
        lines = report_lines(document, report)
        if self.json:
            write_document(document, report, self.json)
            lines.append(f"records: {self.json}")
        if self.html:
            write_file(self.html, page_of(document, report))
            lines.append(f"page: {self.html}")
        return lines


@dataclass(slots=True)
class _Made:
    """What came of it so far."""

    models: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    loaded: dict[str, Loaded] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    pass_times: dict[str, Any] = field(default_factory=dict)
    failure: LocalspecError | None = None


def measure(prepared: Prepared, outputs: Outputs, terminal: Terminal, *, resume: bool) -> int:
    """Load, warm up, measure, report.

    Returns:
        0, or 130 when the person stopped it.

    Raises:
        LocalspecError: it could not begin, or an engine failed; the report was printed all the same.
    """
    meter = EnergyMeter()
    made = _Made(environment=machine_now(meter))
    what = {**prepared.plan.as_json(), **_made_on(made.environment)}
    if resume:
        # What differs beside the models is told before they are loaded and hashed, which may take minutes.
        check_resumable(what)
    with ExitStack() as owned:
        engines = {name: owned.enter_context(EngineClient()) for name in prepared.loading}
        _load(prepared, engines, made, terminal)
        what["models"] = made.models
        journal = owned.enter_context(resume_journal(what) if resume else begin_journal(what))
        interrupts = owned.enter_context(Interrupts(_cancelling(engines)))
        owned.enter_context(EchoOff())
        runner = Runner(
            engines, prepared.plan, meter, lambda: interrupts.seen, _telling(terminal, prepared.plan.generations)
        )
        _run(runner, journal, made, terminal, prepared)
    document = Document(
        plan=prepared.plan.as_json(),
        environment=made.environment,
        models=made.models,
        memory=made.memory,
        pass_times=made.pass_times,
        records=tuple(journal.made.values()),
        complete=made.failure is None and not interrupts.seen,
        left_out=runner.left_out,
        made=now(),
    )
    print_words(outputs.write(document, prepared))
    if made.failure is not None:
        hint = "The same call with --resume goes on where it stopped."
        made.failure.hint = f"{made.failure.hint}\n{hint}".strip()
        raise made.failure
    return INTERRUPTED if interrupts.seen else 0


def _made_on(environment: dict[str, Any]) -> dict[str, Any]:
    """What of the environment must be equal for records to belong together."""
    # How much memory a system counts may change a little whenever it starts.
    machine = {name: value for name, value in environment["machine"].items() if name != "memory_bytes"}
    return {**{name: environment[name] for name in ("localspec", "llama_cpp", "devices")}, "machine": machine}


def _load(prepared: Prepared, engines: dict[str, EngineClient], made: _Made, terminal: Terminal) -> None:
    """Load every pair into an engine of its own, so that their arms can alternate."""
    for name, loading in prepared.loading.items():
        loaded = load(engines[name], loading, terminal)
        try:
            hashes = hashes_of(loading, lambda file: terminal.status(f"Hashing {file}, this once"))
        except OSError as error:
            raise LocalspecError("A model file cannot be read", f"{error.filename}: {error.strerror}.") from error
        finally:
            terminal.clear_status()
        made.loaded[name] = loaded
        made.models[name] = models_of(loading, loaded, hashes)


def _run(runner: Runner, journal: Journal, made: _Made, terminal: Terminal, prepared: Prepared) -> None:
    """All that can be interrupted; a failure is kept beside what was made."""
    lengths = [arm.speculation.draft_length for arm in runner.plan.arms if arm.speculation.enabled]
    drafted = [length for length in lengths if isinstance(length, int)]
    widest = min(max([WIDEST_MEASURED - 1, *drafted]), LONGEST_DRAFT) + 1
    try:
        terminal.status("Timing the memory")
        for name, loaded in made.loaded.items():
            made.memory[name] = memory_of(prepared.loading[name], loaded, made.environment)
        terminal.status("Warming up")
        runner.warm_up()
        terminal.status("Timing passes")
        times = runner.pass_times(tuple(range(1, widest + 1)))
        made.pass_times = {
            pair: {"target": [list(each) for each in found.target], "draft": [list(each) for each in found.draft]}
            for pair, found in times.items()
        }
        for record in runner.run(journal.made):
            journal.add(record)
    except LocalspecError as error:
        made.failure = error
    finally:
        terminal.clear_status()


def _cancelling(engines: dict[str, EngineClient]) -> Callable[[], None]:
    def cancel() -> None:
        for engine in engines.values():
            engine.cancel()

    return cancel


def _telling(terminal: Terminal, total: int) -> Callable[[Step], None]:
    def tell(step: Step) -> None:
        conversation = step.conversation
        left = "" if step.seconds_left is None else f", {seconds_in_words(step.seconds_left)} left"
        what = f"{conversation.task.id}, {conversation.arm.arm.name}, run {conversation.run + 1}"
        terminal.status(f"{step.done} of {total} done{left}: {what}")

    return tell
