from __future__ import annotations

import json
from pathlib import Path

import pytest

from comparing.options import Wanted, parser_of, wanted_by
from comparing.prompts import Question, read_all_tasks, that_fit
from comparing.server_arms import DEFAULT_ARMS, completion_request, loading_options, parse_server_arms
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import UsageError


def wanted(*words: str) -> Wanted:
    return wanted_by(parser_of("").parse_args(words))


def options_of(arm: str) -> str:
    (parsed,) = parse_server_arms(arm)
    return " ".join(parsed.options(Path("draft.gguf"), 2, "f16"))


def test_the_defaults_are_those_of_the_issue() -> None:
    found = wanted()

    assert [arm.name for arm in found.server_arms] == ["off", "1", "2", "3", "5", "8", "default", "ngram"]
    assert [arm.name for arm in found.localspec_arms] == ["off", "on"]
    assert found.temperatures == (0.0, 0.8)
    assert (found.tokens, found.runs, found.loading.threads, found.loading.context) == (128, 1, 2, 4096)
    assert {task.kind for task in found.tasks} >= {"code", "rewrite", "structured", "explain", "story"}


def test_each_arm_becomes_the_servers_own_options() -> None:
    assert options_of("off") == "--spec-type none"
    assert "--spec-type draft-simple --spec-draft-model draft.gguf" in options_of("3")
    assert options_of("3").endswith("--spec-draft-n-max 3")
    assert "--spec-draft-n-max" not in options_of("default")
    assert "--spec-draft-threads 2 --spec-draft-threads-batch 2" in options_of("default")
    assert options_of("ngram") == "--spec-type ngram-simple"
    assert options_of("ngram-mod") == "--spec-type ngram-mod"
    assert "--spec-type ngram-simple,draft-simple" in options_of("3+ngram")


@pytest.mark.parametrize(
    "text",
    ["", "of", "0", "65", "-1", "3+4", "off+3", "3+off", "default+3", "ngram+ngram-mod", "3,3", f"{DEFAULT_ARMS},"],
)
def test_arms_that_cannot_be_are_refused_with_those_that_can(text: str) -> None:
    with pytest.raises(UsageError):
        parse_server_arms(text)


def test_the_server_is_loaded_and_asked_as_localspec_is() -> None:
    found = wanted("--threads", "3", "--context", "512", "--kv-type", "q8_0", "--flash-attention", "on")
    loading = " ".join(loading_options(found.loading, 512, 3))
    request = completion_request([5, 6], SamplingSettings(temperature=0.8, seed=4), 128, ("\nUser:",))

    assert "--ctx-size 512 --parallel 1 --threads 3 --threads-batch 3" in loading
    assert "--cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on" in loading
    assert request["prompt"] == [5, 6]
    assert (request["temperature"], request["top_k"], request["top_p"], request["min_p"]) == (0.8, 40, 0.95, 0.05)
    assert (request["seed"], request["n_predict"], request["cache_prompt"]) == (4, 128, False)
    assert request["stop"] == ["\nUser:"]


@pytest.mark.parametrize(
    "words",
    [
        ("--temperature", "warm"),
        ("--temperature", "-1"),
        ("--temperature", "inf"),
        ("--temperature", ""),
        ("--localspec-arms", "on+t0.8"),
        ("--localspec-arms", "pair=demo"),
        ("--localspec-arms", "greedy"),  # impossible at the second temperature
        ("--localspec-arms", "of"),
        ("--categories", "poems"),
        ("--tasks", "missing.jsonl"),
        ("--tasks", "built-in", "--tasks", "built-in"),
        ("--threads", "0"),
        ("--top-p", "2"),
        ("--seed", "4294967295"),
        ("--server-options", "'"),
        ("--json", "missing/result.json"),
        ("--json", "."),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_loaded(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        wanted(*words)


def test_files_of_tasks_come_beside_the_built_in_ones_with_first_turns_only(tmp_path: Path) -> None:
    file = tmp_path / "bench.jsonl"
    lines = [{"question_id": i, "category": "writing", "turns": ["First.", "Then?"]} for i in range(3)]
    file.write_text("\n".join(map(json.dumps, lines)))

    found = read_all_tasks(["built-in", str(file)], ["writing", "code"], 2)

    assert sorted(task.kind for task in found) == ["code", "code", "writing", "writing"]
    assert all(len(task.turns) == 1 for task in found)
    assert next(task for task in found if task.kind == "writing").turns == ("First.",)


def test_prompts_that_leave_no_room_for_an_answer_are_left_out() -> None:
    short, long = (Question(f"{n}", "code", "", (1,) * n, (), frozenset()) for n in (100, 101))

    assert that_fit([short, long], 100) == ((short,), (long,))
    with pytest.raises(UsageError, match="No prompt fits"):
        that_fit([long], 100)
