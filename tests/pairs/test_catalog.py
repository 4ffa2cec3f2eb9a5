"""The catalog: what ships is whole, what a person writes is checked to the line, names stay inside their folder."""

from __future__ import annotations

import dataclasses
import re

import pytest

from localspec import locations
from localspec.decoding.sampling_settings import SamplingSettings
from localspec.errors import LocalspecError, UsageError
from localspec.pairs.ad_hoc import Source, make_pair
from localspec.pairs.catalog import ModelFile, forget_pair, load_catalog, remember_pair
from localspec.pairs.names import is_gguf_path, is_pair_name, is_repo, is_revision

OWN_PAIR = """\
# mine
[files.big]
repo = "somebody/Big-GGUF"
file = "q4/big.gguf"

[pairs.mine]
target = "big"
draft = "qwen3-0.6b"
"""


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    for what in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{what}_DIR", str(tmp_path / what.lower()))


def write_own(text):
    locations.catalog_file().parent.mkdir(parents=True, exist_ok=True)
    locations.catalog_file().write_text(text, encoding="utf-8")


def complaint(text):
    write_own(text)
    with pytest.raises(UsageError) as caught:
        load_catalog()
    return caught.value.message


def test_every_shipped_pair_is_pinned_licensed_and_described():
    pairs = load_catalog().pairs
    assert len(pairs) == 13
    for pair in pairs.values():
        assert pair.title
        assert pair.purpose
        assert pair.licence
        assert pair.terms.startswith("https://")
        assert pair.sampling.temperature is not None
        for file in pair.files:
            assert re.fullmatch("[0-9a-f]{40}", file.revision)
            assert file.sha256
            assert file.bytes


@pytest.mark.parametrize(
    ("gigabytes", "name"),
    [(2, "qwen2.5-coder-1.5b"), (7.7, "qwen3-4b"), (15.6, "qwen2.5-coder-7b"), (64, "qwen2.5-coder-7b")],
)
def test_the_default_pair_follows_the_memory(gigabytes, name):
    assert load_catalog().default_pair(int(gigabytes * 1e9)).name == name


def test_an_own_pair_may_use_a_shipped_file_and_leave_out_what_the_hub_knows():
    write_own(OWN_PAIR)
    pair = load_catalog().pair("mine")
    assert (pair.source, pair.target.revision, pair.target.bytes, pair.bytes) == ("own", "main", None, None)
    assert pair.draft.repo == "unsloth/Qwen3-0.6B-GGUF"


def test_an_own_pair_replaces_the_shipped_one_of_that_name():
    write_own(OWN_PAIR.replace("pairs.mine", "pairs.qwen3-4b"))
    assert load_catalog().pair("qwen3-4b").target.repo == "somebody/Big-GGUF"


def test_recommended_sampling_replaces_only_what_it_names():
    settings = load_catalog().pair("llama3.1-8b").sampling.over(SamplingSettings(top_k=7, temperature=0.1))
    assert (settings.temperature, settings.top_p, settings.top_k) == (0.6, 0.9, 7)


def test_an_unknown_pair_names_the_nearest():
    with pytest.raises(UsageError) as caught:
        load_catalog().pair("qwen-3-4b")
    assert "qwen3-4b" in caught.value.hint


@pytest.mark.parametrize(
    ("wrong", "line", "words"),
    [
        (OWN_PAIR.replace('"q4/big.gguf"', "7"), 4, "file of files.big must be text"),
        (OWN_PAIR.replace("q4/big.gguf", "../../big.gguf"), 4, "must be the path of a .gguf inside the repo"),
        (OWN_PAIR.replace("q4/big.gguf", "/etc/big.gguf"), 4, "must be the path"),
        (OWN_PAIR.replace("somebody/Big-GGUF", "../Big"), 3, "must be owner/name"),
        (OWN_PAIR.replace("repo =", "repos ="), 3, "unknown key repos; did you mean repo?"),
        (OWN_PAIR.replace('repo = "somebody/Big-GGUF"', ""), 2, "files.big has no repo"),
        (OWN_PAIR.replace('"qwen3-0.6b"', '"qwen3-0.6"'), 8, "which is not there; did you mean qwen3-0.6b?"),
        (OWN_PAIR.replace("pairs.mine", 'pairs."../mine"'), 6, "cannot be a name"),
        (OWN_PAIR.replace("pairs.mine", "pairs.demo"), 6, "demo is the pair that comes with the program"),
        (OWN_PAIR + "context = -1\n", 9, "context of pairs.mine must be from 1"),
        (OWN_PAIR + "context = true\n", 9, "must be a whole number, not True"),
        (OWN_PAIR + 'context = "big"\n', 9, "must be a whole number, not 'big'"),
        (OWN_PAIR + 'notes = """\nline\n"""\n', 9, "one line of printable text"),
        (OWN_PAIR + "memory = 8\nsampling = { temperature = 0.7, top_p = 2 }\n", 10, "top_p of pairs.mine.sampling"),
        (OWN_PAIR + "sampling = { temperature = nan }\n", 9, "must be from 0.0 to 5.0"),
        (OWN_PAIR + "[pears]\n", 9, "unknown key pears; did you mean pairs?"),
        (OWN_PAIR.replace('repo = "somebody/Big-GGUF"', 'repo = "a\nb"'), 3, "at line 3"),
    ],
)
def test_a_mistake_is_named_with_its_line(wrong, line, words):
    message = complaint(wrong)
    assert str(locations.catalog_file()) in message
    assert f"line {line}" in message
    assert words in message


def test_lines_are_right_behind_a_string_over_several_lines():
    long = OWN_PAIR.replace('file = "q4/big.gguf"', 'file = """\\\n  q4/\\\n  big.gguf"""\nbytes = "many"')
    assert "line 7" in complaint(long)


def test_a_file_that_is_not_text_is_told_in_words():
    locations.catalog_file().parent.mkdir(parents=True)
    locations.catalog_file().write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        load_catalog()


def test_a_remembered_pair_comes_back_the_same_and_can_be_forgotten():
    shipped = load_catalog().pair("qwen3-4b")
    pair = dataclasses.replace(
        shipped,
        name="my-pair",
        title='quote " backslash \\ ümlaut 😀',
        target=dataclasses.replace(shipped.target, name="my-pair.target"),
        draft=dataclasses.replace(shipped.draft, name="my-pair.draft", sha256=None),
        sampling=type(shipped.sampling)(),
        default=False,
        source="remembered",
    )
    remember_pair(pair)
    assert load_catalog().pair("my-pair") == pair
    assert forget_pair("my-pair")
    assert not forget_pair("my-pair")
    assert "my-pair" not in load_catalog().pairs


@pytest.mark.parametrize("file", ["big", "a" * 90, f"{'a' * 49}.5-q4", "model...v2", "_._"])
def test_whatever_the_target_is_called_its_pair_can_be_remembered(file):
    for number in range(3):
        sources = Source("some/big", f"{file}.gguf"), Source("some/small", f"small-{number}.gguf")
        pair = make_pair(*sources, load_catalog())
        remember_pair(pair)
        assert load_catalog().pair(pair.name) == pair


@pytest.mark.parametrize("asked", [{"name": "a" * 58}, {"name": "mine."}, {"name": "My"}, {"context": 1 << 25}])
def test_what_no_catalog_could_hold_is_refused_before_it_is_asked_for(asked):
    sources = Source("some/big", "big.gguf"), Source("some/small", "small.gguf")
    with pytest.raises(UsageError):
        make_pair(*sources, load_catalog(), **asked)
    remember_pair(make_pair(*sources, load_catalog(), "a" * 57, 1 << 24))
    assert "a" * 57 in load_catalog().pairs


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "two\nlines"},
        {"notes": "\x1b[31mred"},
        {"title": "caf\udce9"},
        {"name": "a" * 65},
        {"context": 1 << 30},
        {"memory": 0},
        {"draft": ModelFile("mine.draft", "", "", "small.gguf", path="small.gguf")},
    ],
)
def test_what_could_not_be_read_again_is_never_written(wrong):
    pair = make_pair(Source("some/big", "big.gguf"), Source("some/small", "small.gguf"), load_catalog(), "mine")
    remember_pair(pair)
    before = locations.remembered_pairs_file().read_bytes()
    with pytest.raises(LocalspecError, match="cannot be remembered"):
        remember_pair(dataclasses.replace(pair, **wrong))
    assert locations.remembered_pairs_file().read_bytes() == before


@pytest.mark.parametrize("blank", ["", " ", "\u3000", "\u00a0 "])
def test_words_that_are_blank_are_none(blank):
    words = "".join(f'{key} = "{blank}"\n' for key in ("title", "purpose", "licence", "terms", "notes"))
    write_own(OWN_PAIR + words)
    pair = load_catalog().pair("mine")
    assert (pair.title, pair.purpose, pair.licence, pair.terms, pair.notes) == ("mine", "", "", "", "")


@pytest.mark.parametrize("name", ["..", "a/b", "A", "a..b", "", ".a", "a" * 65, "a\n", "a\\b", "a b"])
def test_pair_names_are_safe_in_a_path(name):
    assert not is_pair_name(name)


@pytest.mark.parametrize("name", ["a", "a/b/c", "../b", "a/..", "a--b/c", "a/b\n", "a/b/", "/a/b", "a/.b", "a/b:c"])
def test_repos_are_safe_in_a_path(name):
    assert not is_repo(name)


@pytest.mark.parametrize("name", ["", "../main", "refs//x", "a/", "/a", "a..b", "main\n", "-x"])
def test_revisions_are_safe_in_a_path(name):
    assert not is_revision(name)


@pytest.mark.parametrize(
    "name",
    ["", "a.bin", "/a.gguf", "../a.gguf", "a/../b.gguf", "a//b.gguf", "C:/a.gguf", "a\\b.gguf", ".a.gguf", "~/a.gguf",
     "nul.gguf", "a/com1.gguf", "a\x00.gguf", "dir./a.gguf", "a.gguf\n"],
)  # fmt: skip
def test_file_names_stay_inside_the_repo(name):
    assert not is_gguf_path(name)


@pytest.mark.parametrize("name", ["a.gguf", "Q4_K_M/big-00001-of-00002.gguf", "smol (1).GGUF", "a+b@c=d,e.gguf"])
def test_ordinary_file_names_are_allowed(name):
    assert is_gguf_path(name)
