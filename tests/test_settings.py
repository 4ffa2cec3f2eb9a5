"""Settings: which source wins, and what is said of a wrong value."""

import math
from dataclasses import fields
from pathlib import Path

import pytest

from localspec.chat.events import SpeculationSettings
from localspec.decoding.draft_length import LONGEST_DRAFT
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.engine.messages import LoadPair, ModelSettings
from localspec.errors import UsageError
from localspec.settings import KEYS, Settings, from_environment, from_file, from_flags, keys, merge

RULE_WORDS = "--acceptance must be one of auto, greedy, rejection, block, coupled, typical, not "
BIAS_WORDS = "--logit-bias must be token ids with a bias, as ID=BIAS (-inf forbids the token), not "


def write(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text, "utf-8")
    return file


def test_every_setting_has_one_key_and_every_key_a_setting() -> None:
    assert [key.name for key in KEYS] == [field.name for field in fields(Settings)]


def test_the_defaults_are_those_of_the_engine_but_for_the_draft_which_is_automatic_and_hybrid() -> None:
    settings = Settings()
    assert settings.sampling() == SamplingSettings()
    plain = Settings(drafter="model", draft_length=3)
    assert plain.speculating(with_draft=True) == SpeculationSettings()
    assert settings.speculating(with_draft=True) == SpeculationSettings(drafter="hybrid", draft_length="auto")
    target = Path("target.gguf")
    assert settings.loading(target, None) == LoadPair(ModelSettings(target))
    assert keys.LONGEST_DRAFT == LONGEST_DRAFT


def test_the_help_tells_the_true_default_of_every_number() -> None:
    for key in KEYS:
        default = getattr(Settings(), key.name)
        if isinstance(default, int | float) and not isinstance(default, bool):
            assert f"(default: {default})" in key.help, key.name


def test_a_flag_beats_a_variable_beats_the_file_beats_the_pair() -> None:
    pair = {"temperature": 0.1, "top_k": 1, "top_p": 0.1, "context": 100}
    file = {"temperature": 0.2, "top_k": 2, "top_p": 0.2}
    environment = {"temperature": 0.3, "top_k": 3}
    flags = {"temperature": 0.4}
    settings = merge(flags, environment, file, pair_defaults=pair)
    assert (settings.temperature, settings.top_k, settings.top_p, settings.context) == (0.4, 3, 0.2, 100)
    assert settings.min_p == Settings().min_p


def test_a_target_on_the_command_line_hides_the_pair_and_the_draft_of_the_file() -> None:
    settings = merge({"target": Path("t.gguf")}, {}, {"pair": "big"})
    assert (settings.pair, settings.target, settings.draft) == (None, Path("t.gguf"), None)


@pytest.mark.parametrize(
    ("flag", "given", "words"),
    [
        ("temperature", "hot", "--temperature must be a number, 0 or more, not 'hot'"),
        ("temperature", "-1", "--temperature must be a number, 0 or more, not '-1'"),
        ("temperature", "nan", "--temperature must be a number, 0 or more, not 'nan'"),
        ("top_p", "0", "--top-p must be a number above 0, up to 1, not '0'"),
        ("min_p", "1.5", "--min-p must be a number from 0 to 1, not '1.5'"),
        ("top_k", "2.5", "--top-k must be a whole number, 0 or more, not '2.5'"),
        ("repetition_penalty", "0", "--repetition-penalty must be a number above 0, not '0'"),
        ("penalty_window", "-2", "--penalty-window must be a whole number, -1 or more, not '-2'"),
        ("draft_length", "32", "--draft-length must be auto or a whole number from 0 to 31, not '32'"),
        ("seed", "-1", "--seed must be a whole number from 0 to 18446744073709551615, not '-1'"),
        ("acceptance", "lucky", RULE_WORDS + "'lucky'"),
        ("kv_type", "q9", "--kv-type must be one of f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl, not 'q9'"),
        ("logit_bias", ["five=1"], BIAS_WORDS + "'five=1'"),
        ("logit_bias", ["-5=1"], BIAS_WORDS + "'-5=1'"),
        ("logit_bias", ["5=inf"], BIAS_WORDS + "'5=inf'"),
        ("logit_bias", ["5"], BIAS_WORDS + "'5'"),
        ("stop", ["a", ""], "--stop must be texts that are not empty, not ['a', '']"),
        ("context", "0", "--context must be a whole number, 32 or more, not '0'"),
        ("threads", "0", "--threads must be a whole number from 1 to 512, not '0'"),
        ("max_tokens", "0", "--max-tokens must be a whole number, 1 or more, not '0'"),
        ("gpu_layers", "-2", "--gpu-layers must be a whole number, -1 or more, not '-2'"),
        ("target", "", "--target must be the path of a file, not ''"),
        ("system", "\udce9", r"--system must be a text, not '\udce9'"),
    ],
)  # fmt: skip
def test_an_impossible_flag_is_refused_by_name(flag: str, given: object, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_flags({flag: given})
    assert caught.value.title == words
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('# mine\ntemperature = "hot"', 2, "temperature must be a number, 0 or more, not 'hot'"),
        ("\n\ntop_k = true", 3, "top_k must be a whole number, 0 or more, not True"),
        ("stats = 1", 1, "stats must be true or false, not 1"),
        ("system = 5", 1, "system must be a text, not 5"),
        ("threads = 4\nseed = 1.5", 2, "seed must be a whole number from 0 to 18446744073709551615, not 1.5"),
        ("tempratur = 1", 1, "There is no setting 'tempratur'"),
        ("[sampling]\ntemperature = 1", 1, "There is no setting 'sampling'"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_file_line_and_key(tmp_path: Path, text: str, line: int, words: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        from_file(file)
    assert caught.value.title == words
    assert f"{file}, line {line}" in caught.value.message


def test_a_slip_in_a_key_names_the_key_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean temperature"):
        from_file(write(tmp_path, "tempratur = 1"))


@pytest.mark.parametrize("content", [b"a = [", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_told_with_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        from_file(file)
    assert str(file) in caught.value.message


def test_no_file_is_no_setting(tmp_path: Path) -> None:
    assert from_file(tmp_path / "config.toml") == {}


def test_a_relative_path_in_the_file_starts_at_its_folder(tmp_path: Path) -> None:
    file = write(tmp_path, 'target = "models/t.gguf"\ndraft = "/elsewhere/d.gguf"')
    assert from_file(file) == {"target": tmp_path / "models/t.gguf", "draft": Path("/elsewhere/d.gguf")}


@pytest.mark.parametrize("given", [["5=-inf", "7=1.5"], "5=-inf,7=1.5", {"5": -math.inf, "7": 1.5}])
def test_logit_biases_are_the_same_from_flags_variable_and_file(given: object) -> None:
    kind = next(key.kind for key in KEYS if key.name == "logit_bias")
    assert kind.read(given) == ((5, -math.inf), (7, 1.5))


def test_variables_are_read_and_an_empty_one_is_unset() -> None:
    environ = {"LOCALSPEC_TEMPERATURE": "0.5", "LOCALSPEC_STATS": "on", "LOCALSPEC_STOP": "###", "LOCALSPEC_SEED": ""}
    assert from_environment(environ) == {"temperature": 0.5, "stats": True, "stop": ("###",)}


def test_a_slip_in_a_variable_is_refused_and_the_folders_are_not() -> None:
    folders = {"LOCALSPEC_CACHE_DIR": "x", "LOCALSPEC_CONFIG_DIR": "x", "LOCALSPEC_DATA_DIR": "x"}
    assert from_environment(folders) == {}
    with pytest.raises(UsageError, match="Did you mean LOCALSPEC_TEMPERATURE"):
        from_environment({"LOCALSPEC_TEMPRATURE": "1"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pair": "demo", "target": "t.gguf"}, "--pair and --target exclude each other"),
        ({"pair": "demo", "draft": "d.gguf"}, "--pair and --draft exclude each other"),
        ({"draft": "d.gguf"}, "--draft needs --target"),
    ],
)
def test_models_that_contradict_each_other_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_flags(given)
    assert caught.value.title == words


def test_greedy_acceptance_above_temperature_zero_is_refused() -> None:
    assert merge({"acceptance": "greedy", "temperature": 0.0}).acceptance == "greedy"
    with pytest.raises(UsageError, match="temperature 0"):
        merge({"acceptance": "greedy"})


def test_nothing_is_drafted_when_speculation_is_off_or_drafts_are_empty_or_nobody_guesses() -> None:
    assert Settings().speculates
    for settings in (Settings(speculation=False), Settings(draft_length=0), Settings(drafter="none")):
        assert not settings.speculates
        assert not settings.needs_draft
        assert not settings.needs_costs
        assert not settings.speculating(with_draft=True).speculates


def test_a_draft_model_is_needed_where_it_may_guess_and_costs_where_they_decide() -> None:
    assert Settings().needs_draft
    assert Settings(drafter="model").needs_draft
    assert not Settings(drafter="ngram").needs_draft
    assert Settings(drafter="ngram").needs_costs
    assert not Settings(draft_length=3).needs_costs
    assert Settings().loading(Path("t.gguf"), None).costs
    assert not Settings(draft_length=3).loading(Path("t.gguf"), None).costs


@pytest.mark.parametrize(("drafter", "alone"), [("hybrid", "ngram"), ("ngram", "ngram"), ("model", "none")])
def test_without_a_draft_model_the_text_guesses_alone(drafter: str, alone: str) -> None:
    speculation = Settings(drafter=drafter).speculating(with_draft=False)
    assert speculation.drafter == alone
    assert speculation.speculates == (alone != "none")
    assert Settings(drafter=drafter).speculating(with_draft=True).drafter == drafter


def test_a_draft_length_is_a_number_or_auto() -> None:
    assert merge(from_flags({"draft_length": "7"})).draft_length == 7
    assert merge(from_flags({"draft_length": "auto"}), {}, {"draft_length": 7}).draft_length == "auto"
