"""`localspec chat` with one prompt: the text, the figures, and what it says of wrong calls."""

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from localspec.cli.answer_json import SCHEMA
from localspec.llama.tokenizer import Tokenizer
from localspec.pairs import demo
from tests.end_to_end.conftest import PROGRAM, Program, Run

QUESTION = "What is the capital of France?"
COUPLED = ["--json", "--seed", "7", "--acceptance", "coupled", "--logit-bias", "5=-inf", "--max-tokens", "40"]


@pytest.fixture(scope="module")
def piped(program: Program) -> Run:
    return program(
        "chat", "-p", "What is the capital of this country?", "--temperature", "0", "--stats", stdin="France\n"
    )


@pytest.fixture(scope="module")
def as_json(program: Program) -> dict[str, object]:
    run = program("chat", *COUPLED, stdin=QUESTION)
    assert run.returncode == 0, run.stderr
    document: dict[str, object] = json.loads(run.stdout)
    return document


def test_the_prompt_and_what_is_piped_make_one_question(piped: Run) -> None:
    assert piped.returncode == 0
    assert "Paris" in piped.stdout


def test_output_that_is_no_terminal_holds_no_escape_codes_and_no_statuses(piped: Run) -> None:
    assert "\x1b" not in piped.stdout + piped.stderr
    assert "\r" not in piped.stdout + piped.stderr
    assert "Loading" not in piped.stderr


def test_the_answer_alone_goes_to_stdout_and_ends_its_line(piped: Run) -> None:
    assert piped.stdout.count("\n") == 1
    assert "accepted" in piped.stderr
    assert "tok/s" in piped.stderr


def test_it_says_in_one_line_that_the_demo_answers(piped: Run) -> None:
    assert [line for line in piped.stderr.splitlines() if "demo pair" in line]


def test_json_is_one_object_of_the_documented_form(as_json: dict[str, object]) -> None:
    assert as_json["schema"] == SCHEMA
    assert set(as_json) == {
        "schema", "text", "thinking", "finish", "tokens", "context", "timings", "statistics", "drafting", "seed",
        "acceptance_rule", "lossless", "models", "settings", "error",
    }  # fmt: skip
    assert as_json["error"] is None
    assert as_json["finish"] in {"end", "length"}
    assert (as_json["seed"], as_json["acceptance_rule"], as_json["lossless"]) == (7, "coupled", True)
    assert str(as_json["text"]).strip()
    assert as_json["thinking"] == ""


def test_the_counts_of_json_agree_with_each_other(as_json: dict[str, object]) -> None:
    statistics, tokens, timings = as_json["statistics"], as_json["tokens"], as_json["timings"]
    drafting = as_json["drafting"]
    assert isinstance(drafting, dict)
    assert (drafting["drafter"], drafting["draft_length"]) == ("model", 3)
    assert isinstance(statistics, dict)
    lengths = statistics["rounds_by_length"]
    assert sum(lengths) == statistics["rounds"]
    assert sum(length * rounds for length, rounds in enumerate(lengths)) == statistics["drafted"]
    assert sum(source["drafted"] for source in statistics["by_source"].values()) == statistics["drafted"]
    # A fixed length expects nothing of its guesses.
    assert statistics["judged"] == statistics["judged_kept"] == 0 < statistics["accepted"]
    assert isinstance(tokens, dict)
    assert isinstance(timings, dict)
    assert sum(statistics["origins"].values()) == tokens["answer"]
    assert statistics["origins"]["draft"] <= statistics["accepted"] <= statistics["drafted"]
    assert statistics["acceptance"] == statistics["accepted"] / statistics["drafted"]
    assert sum(statistics["drafted_at"]) == statistics["drafted"]
    assert statistics["tau"] == tokens["answer"] / statistics["rounds"]
    parts = timings["target_seconds"] + timings["draft_seconds"] + timings["other_seconds"]
    assert parts == pytest.approx(timings["decode_seconds"])


def test_json_tells_models_and_settings_as_used(as_json: dict[str, object]) -> None:
    models, settings = as_json["models"], as_json["settings"]
    assert isinstance(models, dict)
    assert isinstance(settings, dict)
    assert models["target"]["path"] == str(demo.find_demo_target())
    assert models["draft"]["path"] != models["target"]["path"]
    assert settings["context"] == 256
    assert settings["threads"] == 1
    assert settings["sampling"]["temperature"] == demo.RECOMMENDED["temperature"]
    assert settings["sampling"]["logit_bias"] == {"5": "-inf"}


def test_coupled_answers_are_the_same_without_speculation(program: Program, as_json: dict[str, object]) -> None:
    run = program("chat", *COUPLED, "--no-speculation", stdin=QUESTION)
    document = json.loads(run.stdout)
    assert document["text"] == as_json["text"]
    assert document["models"]["draft"] is None
    assert document["statistics"]["drafted"] == 0


def test_flags_beat_variables_beat_the_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("max_tokens = 3\nseed = 1\ntemperature = 0.5\n")
    environment = {"LOCALSPEC_CONFIG_DIR": str(tmp_path), "LOCALSPEC_SEED": "2", "LOCALSPEC_TEMPERATURE": "0.6"}
    run = program("chat", "--json", "--temperature", "0.7", "--no-speculation", stdin=QUESTION, environment=environment)
    document = json.loads(run.stdout)
    assert document["finish"] == "length"
    sampling = document["settings"]["sampling"]
    assert (document["tokens"]["answer"], sampling["seed"], sampling["temperature"]) == (3, 2, 0.7)


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What `{text}`, `{cut}` and `{folder}` stand for in the calls below."""
    folder = tmp_path_factory.mktemp("bad files")
    model = demo.find_demo_target()
    assert model is not None
    text, cut = folder / "text.gguf", folder / "cut.gguf"
    text.write_text("not a model")
    with model.open("rb") as whole:
        cut.write_bytes(whole.read(5_000_000))
    return {"{text}": str(text), "{cut}": str(cut), "{folder}": str(folder)}


@pytest.mark.parametrize(
    "call",
    [
        (["chat"], b"", 2, "The prompt is empty"),
        (["chat", "-p", "  "], b"", 2, "The prompt is empty"),
        (["chat", "-p", "x"], b"\xff\xfe\x00", 2, "not text"),
        (["chat", "-p", "x", "--tempratur", "1"], b"", 2, "Did you mean --temperature?"),
        (["chat", "-p", "x", "--top-p", "2"], b"", 2, "--top-p must be"),
        (["chat", "-p", "x", "--draft-length", "32"], b"", 2, "from 0 to 31"),
        (["chat", "-p", "x", "--acceptance", "greedy", "--temperature", "1"], b"", 2, "temperature 0"),
        (["chat", "-p", "x", "--draft", "d.gguf"], b"", 2, "--draft needs --target"),
        (["chat", "-p", "x", "--pair", "demo", "--target", "t"], b"", 2, "exclude each other"),
        (["chat", "-p", "x", "--pair", "nobodys"], b"", 2, "There is no pair called nobodys"),
        (["chat", "-p", "x", "--target", "/nowhere/big.gguf"], b"", 2, "big.gguf"),
        (["chat", "-p", "x", "--target", "{text}"], b"", 2, "not a GGUF"),
        (["chat", "-p", "x", "--target", "{cut}"], b"", 1, "cut.gguf"),
        (["chat", "-p", "x", "--target", "{folder}"], b"", 2, "folder"),
        (["chat", "-p", "x", "--device", "CUDA9"], b"", 2, "CUDA9"),
        (["chat", "-p", "x", "--kv-type", "q4_0", "--flash-attention", "off"], b"", 2, "flash attention"),
        (["chat", "-p", "x", "--pair", "qwen2.5-coder-1.5b"], b"", 1, "localspec pull qwen2.5-coder-1.5b"),
        (["chat", "--json"], "word " * 400, 1, "context"),
        (["chat", "--json", "--plain"], b"", 2, "exclude each other"),
        (["chat", "-p"], b"", 2, "expected one argument"),
        (["talk"], b"", 2, "There is no command talk"),
        (["chat", "hello"], b"", 2, "There is no hello"),
        (["doctor", "--target", "/nowhere/big.gguf"], b"", 2, "There is no file"),
    ],
)  # fmt: skip
def test_what_a_person_can_get_wrong_is_told_in_words(
    program: Program, bad_files: dict[str, str], call: tuple[list[str], str | bytes, int, str]
) -> None:
    arguments, stdin, code, words = call
    run = program(*(bad_files.get(argument, argument) for argument in arguments), stdin=stdin)
    assert run.returncode == code, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert "mistake in localspec" not in run.stderr


def test_control_characters_of_a_model_never_reach_the_output_raw(
    program: Program, smollm2_tokenizer: Tokenizer
) -> None:
    escape = smollm2_tokenizer.encode("\x1b", parse_special=False, add_special=False)
    assert len(escape) == 1
    forced = ["--logit-bias", f"{escape[0]}=100", "--max-tokens", "3", "--no-speculation"]
    run = program("chat", "-p", "Say yes.", *forced)
    assert run.stdout == "␛␛␛\n"
    as_json = program("chat", "-p", "Say yes.", "--json", *forced).stdout
    assert "\x1b" not in as_json
    assert json.loads(as_json)["text"] == "\x1b\x1b\x1b"


def test_a_prompt_too_long_shows_no_answer(program: Program) -> None:
    run = program("chat", stdin="word " * 400)
    assert run.returncode == 1
    assert run.stdout.strip() == ""


def test_a_full_context_ends_an_answer_with_words(program: Program) -> None:
    run = program("chat", "-p", "Count to one thousand.", "--context", "64", "--temperature", "0", "--no-speculation")
    assert run.returncode == 0
    assert len(run.stdout) > 20
    assert "The context is full (64 tokens)" in run.stderr


def test_a_reader_that_leaves_early_is_no_error(program: Program) -> None:  # noqa: ARG001 - its environment is needed
    command = [*PROGRAM, "chat", "-p", "Count to one hundred.", "--max-tokens", "60", "--no-speculation"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(1)
        running.stdout.close()
        errors = running.stderr.read().decode()
        assert running.wait(60) == 0
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_ctrl_c_keeps_what_came_and_leaves_with_130() -> None:
    command = [*PROGRAM, "chat", "-p", "Tell a very long story.", "--no-speculation", "--drop-oldest"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = running.stdout.read(1)
        running.send_signal(signal.SIGINT)
        rest, errors = running.stdout.read(), running.stderr.read().decode()
        assert running.wait(60) == 130
    assert first
    assert rest.endswith(b"\n")
    assert "Traceback" not in errors


def test_an_engine_that_is_killed_leaves_what_came_and_says_why() -> None:
    command = [*PROGRAM, "chat", "-p", "Tell a very long story.", "--no-speculation"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = running.stdout.read(1)
        for engine in psutil.Process(running.pid).children():
            engine.kill()
        rest, errors = running.stdout.read(), running.stderr.read().decode()
        assert running.wait(60) == 1
    assert first
    assert rest.endswith(b"\n")
    assert "The engine was killed (SIGKILL)" in errors
    assert "Traceback" not in errors


def test_a_program_that_is_killed_leaves_no_engine_behind() -> None:
    command = [*PROGRAM, "chat", "-p", "Tell a very long story.", "--no-speculation"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        engines = psutil.Process(running.pid).children()
        assert engines
        running.kill()
    gone, alive = psutil.wait_procs(engines, timeout=30)
    assert gone
    assert not alive
