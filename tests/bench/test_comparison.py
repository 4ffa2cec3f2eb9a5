"""The document of a benchmark, and two of them side by side."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.bench.arms import parse_arms
from localspec.bench.comparison import compare
from localspec.bench.document import Document, read_document, write_document
from localspec.bench.report import report_of
from localspec.bench.tables import comparison_lines
from localspec.errors import UsageError
from tests.bench.made_up import ENVIRONMENT, MODELS, benchmark, document


def written(made: Document, path: Path) -> dict[str, object]:
    write_document(made, report_of(made.records, parse_arms("off,2"), made.kinds), path)
    values: dict[str, object] = json.loads(path.read_bytes())
    return values


def test_a_document_comes_back_as_it_was(tmp_path: Path) -> None:
    made = document(benchmark())
    written(made, tmp_path / "a.json")
    assert read_document(tmp_path / "a.json") == made


def test_the_document_has_what_its_schema_says(tmp_path: Path) -> None:
    values = written(document(benchmark()), tmp_path / "a.json")
    assert list(values) == ["schema", "kind", "made", "complete", "plan", "environment", "models", "memory",
                            "pass_times", "left_out", "records", "report"]  # fmt: skip
    assert (values["schema"], values["kind"]) == (1, "localspec bench")
    records = values["records"]
    assert isinstance(records, list)
    assert {"category", "arm", "prompt_id", "run", "turn", "tokens_per_second", "time_to_first_token", "token_ids",
            "statistics", "rounds", "joules"} <= set(records[0])  # fmt: skip
    report = values["report"]
    assert isinstance(report, dict)
    gain = report["arms"]["2"]["figures"]["all"]["speed_up"]
    assert gain["ratio"] == pytest.approx(2.0)
    assert gain["real"] is True


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "cannot be read"), ("[]", "is no benchmark"), ('{"kind": "localspec bench", "schema": 9}', "schema 9"),
     ('{"kind": "localspec bench", "schema": 1}', "is damaged")],
)  # fmt: skip
def test_a_file_that_is_no_document_is_told_in_words(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=told):
        read_document(file)


def test_the_second_over_the_first_kind_by_kind_and_over_all() -> None:
    first, second = document(benchmark(2.0)), document(benchmark(3.0))
    comparison = compare(first, second)
    ratios = {(row.kind, row.arm): row.ratio.value for row in comparison.rows}
    assert ratios["code", "2"] == pytest.approx(1.5)
    assert ratios[None, "2"] == pytest.approx(1.5)
    assert ratios[None, "off"] == pytest.approx(1.0)
    assert comparison.same_text == {"off": (8, 8), "2": (8, 8)}
    lines = comparison_lines(comparison, ("a", "b"))
    assert max(map(len, lines)) <= 80
    assert "faster" in "\n".join(lines)
    assert "Machine, builds and settings are the same." in lines


def test_a_benchmark_agrees_with_itself() -> None:
    made = document(benchmark())
    for row in compare(made, made).rows:
        assert row.ratio.value == 1
        assert not row.ratio.real


def test_what_differs_around_them_is_listed() -> None:
    first = document(benchmark())
    other = {**ENVIRONMENT, "llama_cpp": {"version": "1", "bindings": "2", "features": {"CPU": {"AVX2": "0"}}}}
    models = {"pair": {**MODELS["pair"], "threads": 8}}
    second = document(benchmark(), environment=other, models=models, complete=False)
    assert compare(first, second).differences == (
        "threads: 2 and 8",
        "llama cpp features CPU AVX2: 1 and 0",
        "the second was not completed",
    )


def test_layers_on_the_gpu_are_a_setting_though_the_device_is_the_same() -> None:
    first = document(benchmark())
    for which in ("target", "draft"):
        fewer = {**MODELS["pair"][which], "gpu_layers": 10}  # type: ignore[dict-item] # it is a dict
        comparison = compare(first, replace(first, models={"pair": {**MODELS["pair"], which: fewer}}))
        assert comparison.differences == (f"{which} gpu layers: -1 and 10",)


def test_settings_of_the_same_files_are_compared_by_whatever_name_they_go() -> None:
    first = document(benchmark())
    second = replace(
        first,
        plan={**first.plan, "arms": {name: {**arm, "pair": "big"} for name, arm in first.plan["arms"].items()}},
        models={"big": {**MODELS["pair"], "threads": 8, "kv_type": "q8_0"}},
    )
    assert compare(first, second).differences == ("threads: 2 and 8", "kv type: f16 and q8_0")


def test_settings_of_models_that_no_common_arm_has_are_none_that_differ() -> None:
    first = document(benchmark())
    arms = {**first.plan["arms"], "3": {**first.plan["arms"]["2"], "pair": "other"}}
    one, other = (
        replace(
            first,
            plan={**first.plan, "arms": {**arms, name: arms["3"]}},
            models={**MODELS, "other": {**MODELS["pair"], "threads": threads}},
        )
        for name, threads in (("3", 2), ("3", 8))
    )
    assert compare(one, other).differences == ("threads: 2 and 8",)
    del one.plan["arms"]["3"]
    assert compare(one, other).differences == ()


def test_other_prompts_models_or_limits_are_not_compared() -> None:
    first = document(benchmark())
    plan = first.plan
    for changed, told in (
        ({"tasks": {"else": "x"}}, "no prompt in common"),
        ({"tasks": {**plan["tasks"], "code-1": "x"}}, "code-1 is not the same"),
        ({"max_tokens": 99}, "max tokens: 16 and 99"),
    ):
        with pytest.raises(UsageError, match="cannot be compared") as caught:
            compare(first, replace(first, plan={**plan, **changed}))
        assert told in caught.value.message
    target = {**MODELS["pair"]["target"], "sha256": "c" * 64, "file": "other.gguf"}  # type: ignore[dict-item] # it is a dict
    second = replace(first, models={"pair": {**MODELS["pair"], "target": target}})
    with pytest.raises(UsageError, match="cannot be compared") as caught:
        compare(first, second)
    assert "other models: the target is big.gguf in the first, other.gguf in the second" in caught.value.message


def test_an_arm_that_is_not_the_same_in_both_is_left_out_with_the_reason() -> None:
    first = document(benchmark())
    warm = {**first.plan["arms"]["2"], "sampling": {"temperature": 0.8, "seed": 1}}
    second = replace(first, plan={**first.plan, "arms": {"off": first.plan["arms"]["off"], "2": warm, "3": warm}})
    comparison = compare(first, second)
    assert comparison.arms == ("off",)
    assert comparison.left_out == {
        "2": "temperature is 0.0 in the first, 0.8 in the second",
        "3": "only the second has it",
    }
