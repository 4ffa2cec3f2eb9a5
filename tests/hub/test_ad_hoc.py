"""Pairs put together by name: which file is meant, what the pair is called, and that it is remembered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.errors import UsageError
from localspec.pairs.ad_hoc import Source, parse_source
from tests.hub.conftest import ROOT

PROGRAM = """
import json, sys
from localspec.errors import LocalspecError
from localspec.pairs.ad_hoc import make_pair, parse_source
from localspec.pairs.catalog import load_catalog
from localspec.pairs.memory_fit import Memory
from localspec.pairs.progress import Meter
from localspec.pairs.pull import carry_out, prepare
try:
    pair = make_pair(*(parse_source(text) for text in sys.argv[1:3]), load_catalog(), *sys.argv[3:])
    meter = Meter(lambda _: None)
    carry_out(prepare(pair, Memory.of_machine(), meter), meter)
    kept = load_catalog().pair(pair.name)
    print(json.dumps([kept.name, kept.source, kept.target.file, kept.target.revision, kept.target.sha256, kept.memory]))
except LocalspecError as error:
    print(json.dumps([error.title, error.message, error.hint]))
"""


def pull(desk, *arguments):
    command = [sys.executable, "-c", PROGRAM, *arguments]
    run = subprocess.run(command, env=desk.environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not run.stderr, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a/b", Source("a/b")),
        ("a/b:c.gguf", Source("a/b", "c.gguf")),
        ("a/b:d/c.gguf@v1", Source("a/b", "d/c.gguf", "v1")),
        ("a/b@refs/pr/3", Source("a/b", None, "refs/pr/3")),
        ("hf.co/a/b", Source("a/b")),
    ],
)
def test_a_source_is_read(text, source):
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text", ["", "a", "a/b/c", "../b", "a/b:c.bin", "a/b:../c.gguf", "a/b:/c.gguf", "a/b@../x", "a/b:", "a/b@", "C:\\a"]
)
def test_what_is_no_source_is_refused(text):
    with pytest.raises(UsageError, match="does not name a file on the hub"):
        parse_source(text)


def test_files_that_are_a_pair_already_get_its_name(desk):
    assert pull(desk, "somebody/target-GGUF", "somebody/draft-GGUF")[:2] == ["tiny", "own"]


def test_an_ad_hoc_pair_gets_a_name_and_is_remembered_with_its_commit(desk):
    Path(desk.environment["LOCALSPEC_CONFIG_DIR"], "models.toml").unlink()
    name, source, file, revision, sha256, memory = pull(desk, "somebody/target-GGUF", "somebody/draft-GGUF")
    assert (name, source, file, memory) == ("big-q8", "remembered", "big-q8.gguf", 2)
    assert revision == desk.hub.commit("somebody/target-GGUF")
    assert sha256 == desk.hub.file("somebody/target-GGUF", file).etag
    desk.check_cache()
    # The same pair again is the same name, another one with that target is another.
    assert pull(desk, "somebody/target-GGUF:big-q8.gguf", "somebody/draft-GGUF")[0] == "big-q8"
    desk.hub.add("other/copy-GGUF", desk.draft)
    assert pull(desk, "somebody/target-GGUF", "other/copy-GGUF")[0] == "big-q8-2"


def test_a_name_may_be_chosen(desk):
    assert pull(desk, "somebody/target-GGUF", "somebody/draft-GGUF", "mine")[0] == "mine"
    assert (
        pull(desk, "somebody/target-GGUF", "somebody/draft-GGUF", "qwen3-4b")[0]
        == "There is a pair called qwen3-4b already"
    )
    assert pull(desk, "somebody/target-GGUF", "somebody/draft-GGUF", "../x")[0] == "'../x' cannot be a pair's name"


def test_of_several_files_the_usual_type_is_taken(desk):
    for name in (
        "big-Q8_0.gguf",
        "big-Q4_K_M.gguf",
        "mmproj-big-Q4_K_M.gguf",
        "big-f16-00001-of-00002.gguf",
        "README.md",
    ):
        desk.hub.add("somebody/many-GGUF", desk.target, name)
    assert pull(desk, "somebody/many-GGUF", "somebody/draft-GGUF")[2] == "big-Q4_K_M.gguf"


def test_where_it_is_not_clear_which_file_is_meant_all_are_named(desk):
    for name in ("one.gguf", "two.gguf"):
        desk.hub.add("somebody/many-GGUF", desk.target, name)
    title, message, hint = pull(desk, "somebody/many-GGUF", "somebody/draft-GGUF")
    assert title == "It is not clear which file of somebody/many-GGUF is meant"
    assert message == "It has one.gguf, two.gguf."
    assert hint == "Name the file: somebody/many-GGUF:FILE.gguf"


def test_a_repo_without_a_model_says_so(desk):
    desk.hub.add("somebody/text", desk.target, "README.md")
    assert pull(desk, "somebody/text", "somebody/draft-GGUF")[0] == "somebody/text has no GGUF of a whole model"


def test_names_that_the_hub_lists_cannot_leave_the_cache(desk):
    desk.hub.add("somebody/evil-GGUF", desk.target, "../../../evil.gguf")
    assert (
        pull(desk, "somebody/evil-GGUF", "somebody/draft-GGUF")[0] == "somebody/evil-GGUF has no GGUF of a whole model"
    )


def test_a_repo_that_is_not_there_says_so(desk):
    assert pull(desk, "somebody/nothing", "somebody/draft-GGUF")[0] == "The hub has no repo somebody/nothing"


def test_without_a_hub_a_list_of_files_is_given_up_at_once_and_in_our_words_alone(desk):
    desk.environment = {**desk.environment, "HF_ENDPOINT": "http://127.0.0.1:9"}

    title, *_ = pull(desk, "a/b", "c/d")

    assert title == "The hub cannot be reached"
