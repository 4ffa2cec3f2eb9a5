"""Pulling on a terminal, and the first `localspec chat` on a machine without a pair, before a hub on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from localspec.pairs import demo
from tests.end_to_end.conftest import PROGRAM, Program
from tests.hub.conftest import Desk, own_environment
from tests.hub.server import Fault, LoopbackHub
from tests.hub.test_pull import assert_pulled

Start = Callable[..., "pexpect.spawn[str]"]

QUESTION = "Pull it now? Without it the demo pair answers. [y/N] "


@pytest.fixture
def desk(tmp_path: Path, smollm2_path: Path, smollm2_draft_path: Path) -> Iterator[Desk]:
    """A person with nothing yet, and a hub whose pair `tiny` is a real one, the one to propose on this machine."""
    with LoopbackHub() as hub:
        environment = own_environment(hub, tmp_path) | {"LOCALSPEC_PAIR": "", "LOCALSPEC_CONTEXT": "256"}
        found = Desk(hub, tmp_path, smollm2_path, smollm2_draft_path, environment)
        hub.add("somebody/target-GGUF", found.target)
        hub.add("somebody/draft-GGUF", found.draft)
        found.write_catalog()
        catalog = Path(environment["LOCALSPEC_CONFIG_DIR"]) / "models.toml"
        memory = int(psutil.virtual_memory().total / 1e9 / 0.9)  # as much as counts as this machine's
        more = ["default = true", f"memory = {memory}", 'licence = "Apache-2.0"', 'purpose = "To try"']
        catalog.write_text("\n".join([catalog.read_text(), *more]))
        yield found


def asked(desk: Desk) -> bool:
    """Whether anybody asked the hub anything."""
    return bool(desk.hub.seen)


def test_a_person_is_asked_stops_goes_on_and_chats(desk: Desk, terminal: Start) -> None:
    desk.hub.faults = [Fault("slow", rate=20_000_000, downloads_only=True)]
    child = terminal("pull", "tiny", environment=desk.environment)
    child.expect_exact("Apache-2.0")
    child.expect_exact("Pull it? [Y/n] ")
    child.sendline("n")
    child.expect_exact("Nothing was downloaded.")
    child.expect(pexpect.EOF)
    assert child.wait() == 1
    assert not list(desk.cache.rglob("*.incomplete"))

    child = terminal("pull", "tiny", environment=desk.environment)
    child.expect_exact("Pull it? [Y/n] ")
    child.sendline("")
    child.expect(r"[1-9]\d* MB of \d+ MB \(\d+%\), [\d.]+ MB/s, \d+ s left: downloading")
    child.sendintr()
    child.expect(r"localspec: Stopped\s+\d+ MB of \d+ MB are here and are kept.\s+The same command goes on from there.")
    child.expect(pexpect.EOF)
    assert child.wait() == 130
    assert list(desk.cache.rglob("*.incomplete"))

    desk.hub.faults = []
    child = terminal("pull", "tiny", "--yes", environment=desk.environment)
    child.expect(r"\d+ MB of it are here")
    child.expect(r"tiny is here, whole and checked: .* from before\.")
    child.expect(pexpect.EOF)
    assert child.wait() == 0
    assert_pulled(desk)

    child = terminal("chat", "-p", "Say yes.", "--max-tokens", "5", "--no-speculation", environment=desk.environment)
    child.expect_exact("No pair is named: tiny answers")
    child.expect(pexpect.EOF)
    assert child.wait() == 0


def test_ctrl_c_at_the_question_and_during_the_checks_says_or_leaves_nothing(desk: Desk, terminal: Start) -> None:
    child = terminal("pull", "tiny", environment=desk.environment)
    child.expect_exact("Pull it? [Y/n] ")
    child.sendintr()
    child.expect(r"\r\n$")
    child.expect(pexpect.EOF)
    assert child.wait() == 130
    desk.hub.faults = [Fault("stall", where="hub")]
    child = terminal("pull", "tiny", environment=desk.environment | {"HF_HUB_ETAG_TIMEOUT": "100"})
    child.expect_exact("looking for tiny")
    child.sendintr()
    child.expect_exact("Nothing was downloaded yet.")
    child.expect(pexpect.EOF)
    assert child.wait() == 130
    assert not desk.cache.exists()


def test_the_first_chat_proposes_a_pair_and_pulls_it_on_yes(desk: Desk, terminal: Start) -> None:
    child = terminal("chat", "--plain", "--max-tokens", "5", "--no-speculation", environment=desk.environment)
    child.expect_exact("tiny")
    child.expect(r"\d+ MB to\s+download. Licence: Apache-2.0")
    child.expect_exact(QUESTION)
    assert not asked(desk)
    child.sendline("what?")
    child.expect_exact(QUESTION)
    child.sendline("y")
    child.expect_exact("/help lists the commands")
    assert_pulled(desk)
    child.sendeof()
    child.expect(pexpect.EOF)


@pytest.mark.parametrize("answer", ["n", ""])
def test_who_declines_chats_through_the_demo_pair(desk: Desk, terminal: Start, answer: str) -> None:
    child = terminal("chat", "-p", "Say yes.", "--max-tokens", "5", "--no-speculation", environment=desk.environment)
    child.expect_exact(QUESTION)
    child.sendline(answer)
    child.expect(r"the\s+demo\s+pair\s+answers;")
    child.expect(pexpect.EOF)
    assert child.wait() == 0
    assert not asked(desk)


def test_a_hub_that_is_silent_costs_seconds_and_the_demo_pair_answers(desk: Desk, terminal: Start) -> None:
    desk.hub.faults = [Fault("stall", where="hub")]
    patient = {"HF_HUB_ETAG_TIMEOUT": "600", "HF_HUB_DOWNLOAD_TIMEOUT": "600"}
    child = terminal(
        "chat", "-p", "Say yes.", "--max-tokens", "5", "--no-speculation", environment=desk.environment | patient
    )
    child.expect_exact(QUESTION)
    child.sendline("y")
    child.expect_exact("The hub cannot be reached")
    child.expect_exact("no answer within 4 s")
    child.expect(r"the\s+demo\s+pair\s+answers;")
    child.expect(pexpect.EOF)
    assert child.wait() == 0


def test_a_script_on_a_fresh_machine_gets_the_demo_pair_and_one_line_that_says_why(
    desk: Desk, program: Program
) -> None:
    run = program("chat", "-p", "Say yes.", "--max-tokens", "5", "--no-speculation", environment=desk.environment)
    assert run.returncode == 0
    assert run.stdout.strip()
    (line,) = run.stderr.splitlines()
    assert line.startswith("No pair is pulled, so the demo pair answers; `localspec pull tiny` (")
    assert not asked(desk)


def test_without_even_the_demo_a_script_is_told_what_to_type(desk: Desk) -> None:
    code = (
        "import sys; from localspec.pairs import demo; demo.find_demo_target = lambda: None\n"
        "from localspec.cli import main; sys.exit(main(['chat', '-p', 'x']))"
    )
    run = subprocess.run(
        [PROGRAM[0], "-c", code], env=desk.environment, input="", capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "There is no model to talk to" in run.stderr
    assert "localspec pull tiny" in run.stderr
    assert demo.install_command() in run.stderr


@pytest.mark.parametrize("named", [["--pair", "demo"], ["--target", "{target}"], ["--pair", "qwen3-4b"]])
def test_the_hub_is_never_asked_when_the_models_are_named(desk: Desk, program: Program, named: list[str]) -> None:
    desk.hub.faults = [Fault("stall", where="hub")]
    named = [part.format(target=desk.target) for part in named]
    program("chat", "-p", "Say yes.", "--max-tokens", "2", "--no-speculation", *named, environment=desk.environment)
    assert sum(1_000_000 - fault.times for fault in desk.hub.faults) == 0
    assert not asked(desk)
