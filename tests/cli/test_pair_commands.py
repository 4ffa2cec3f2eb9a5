"""`pull`, `list`, `show`, `match` and `rm`, run against a hub on loopback: what they print, refuse and leave with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localspec.cli.pairs.layout import facts, sentence
from tests.hub.conftest import ROOT, Desk
from tests.hub.server import Fault
from tests.hub.test_pull import assert_pulled
from tests.pairs.gguf_files import TinyModel, tokens

SOURCES = ["--target", "somebody/target-GGUF", "--draft", "somebody/draft-GGUF"]
FILES = ["--target", "somebody/target-GGUF:big-q8.gguf", "--draft", "somebody/draft-GGUF:other.gguf"]
PAIR = {
    "name", "title", "purpose", "licence", "terms", "memory", "target", "draft", "context", "sampling", "notes",
    "default", "source", "bytes",
}  # fmt: skip
MODEL = {"file", "architecture", "layers", "vocabulary", "trained_context", "weights_bytes"}
MEMORY = {"context", "kv_type", "needed_bytes", "usable_bytes", "fits", "largest_context", "target", "draft"}
STATE = {"pair", "pulled", "target_path", "draft_path", "partial_bytes", "fits", "fit"}


def run(desk: Desk, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a script does: nobody at a terminal."""
    command = [sys.executable, "-m", "localspec", *arguments]
    environ = desk.environment | environment
    done = subprocess.run(command, cwd=ROOT, env=environ, input="", capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert "mistake in localspec" not in done.stderr, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    return done


def fine(desk: Desk, *arguments: str, **environment: str) -> str:
    done = run(desk, *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, ""), done
    for line in done.stdout.splitlines():
        # What is longer is there to be copied whole.
        assert "--json" in arguments or len(line) <= 80 or " " not in line.strip(), line
    return done.stdout


def told(desk: Desk, *arguments: str, **environment: str) -> dict[str, Any]:
    """The object that --json prints."""
    document: dict[str, Any] = json.loads(fine(desk, *arguments, "--json", **environment))
    assert document["schema"] == 1
    return document


def add_to_pair(desk: Desk, *lines: str) -> None:
    """Say more of the pair `tiny`."""
    catalog = Path(desk.environment["LOCALSPEC_CONFIG_DIR"]) / "models.toml"
    catalog.write_text("\n".join([catalog.read_text(), *lines]))


def test_a_pull_tells_the_licence_then_fetches_then_says_what_to_type(desk: Desk) -> None:
    add_to_pair(desk, 'title = "Tiny"', 'licence = "MIT"', 'terms = "https://example.org/MIT"')
    words = fine(desk, "pull", "tiny")
    assert words.index("MIT, https://example.org/MIT") < words.index("tiny is here, whole and checked: 3 MB in")
    assert words.endswith("Talk to it: localspec chat --pair tiny\n")
    assert_pulled(desk)
    again = fine(desk, "pull", "tiny", HF_HUB_OFFLINE="1")
    assert "is here already" in again
    assert "nothing was left to download" in again


def test_a_pull_as_json(desk: Desk) -> None:
    document = told(desk, "pull", "tiny")
    assert set(document) == {"schema", "plan", "pulled"}
    plan, pulled = document["plan"], document["pulled"]
    assert set(plan) == {"pair", "bytes_to_fetch", "bytes_free", "bytes_checked", "target", "draft", "memory"}
    assert set(pulled) == {"pair", "target_path", "draft_path", "fetched_bytes", "resumed_bytes", "seconds"}
    assert set(pulled["pair"]) == PAIR
    assert set(plan["target"]) == set(plan["draft"]) == MODEL
    assert set(plan["memory"]) == MEMORY
    assert plan["bytes_to_fetch"] == pulled["fetched_bytes"]
    assert pulled["target_path"] == str(desk.cached("target"))


def test_what_is_asked_of_the_caches_reaches_the_checks(desk: Desk) -> None:
    asked = told(desk, "pull", "tiny", "--kv-type", "q8_0", LOCALSPEC_CONTEXT="1024")["plan"]["memory"]
    assert (asked["context"], asked["kv_type"]) == (1024, "q8_0")
    assert told(desk, "pull", "tiny", "--context", "256", LOCALSPEC_CONTEXT="1024")["plan"]["memory"]["context"] == 256
    assert told(desk, "pull", "tiny")["plan"]["memory"]["context"] == 512


def test_a_pair_of_ones_own_gets_a_name_is_listed_and_is_forgotten_with_its_files(desk: Desk) -> None:
    Path(desk.environment["LOCALSPEC_CONFIG_DIR"], "models.toml").unlink()
    words = fine(desk, "pull", *SOURCES, "--name", "mine", "--context", "1024")
    assert "not known to localspec: see the page of" in words
    assert "localspec chat --pair mine" in words
    assert "mine " in fine(desk, "list")
    assert told(desk, "show", "mine")["pair"]["context"] == 1024
    gone = told(desk, "rm", "mine")
    assert gone["forgotten"]
    assert gone["freed_bytes"] == desk.target.stat().st_size + desk.draft.stat().st_size
    assert "mine " not in fine(desk, "list")
    assert run(desk, "rm", "mine").returncode == 2


def test_a_pull_that_fails_keeps_what_came_and_the_list_and_the_next_pull_say_so(desk: Desk) -> None:
    faults = [Fault("status", status=403, downloads_only=True)]
    desk.hub.faults = [Fault("drop", times=1, after=900_000, downloads_only=True), *faults]
    failed = run(desk, "pull", "tiny")
    assert (failed.returncode, "does not let you read" in failed.stderr) == (1, True), failed
    assert "is here, whole" not in failed.stdout
    desk.hub.faults = []
    assert told(desk, "show", "tiny")["partial_bytes"] == 900_000
    assert "1 MB of a pull that did not end" in fine(desk, "show", "tiny")
    assert next(line for line in fine(desk, "list").splitlines() if line.startswith("tiny ")).split()[3] == "partly"
    assert "from before" in fine(desk, "pull", "tiny")
    assert_pulled(desk)


def test_a_pull_is_refused_by_the_headers_alone(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(TinyModel(tokens=tokens(500)).bytes())
    desk.hub.add("somebody/other-GGUF", other)
    refused = run(desk, "pull", "--target", "somebody/target-GGUF", "--draft", "somebody/other-GGUF", "--yes")
    assert refused.returncode == 1
    assert "other.gguf cannot draft for big-q8.gguf" in refused.stderr
    assert "The target has 260 tokens, the draft 500" in refused.stderr
    assert desk.check_cache() == {}


def test_a_draft_as_large_as_its_target_is_told_before_the_pull(desk: Desk) -> None:
    swapped = ["--target", "somebody/draft-GGUF", "--draft", "somebody/target-GGUF"]
    assert "guessing costs about what it saves" in " ".join(fine(desk, "pull", *swapped).split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pull"], "No pair is named"),
        (["pull", "tinny"], "Did you mean tiny?"),
        (["pull", "demo"], "localspec chat --pair demo"),
        (["pull", "tiny", *SOURCES], "exclude each other"),
        (["pull", *SOURCES[:2]], "--draft is missing"),
        (["pull", *SOURCES[2:]], "--target is missing"),
        (["pull", "tiny", "--name", "mine"], "--name is for a pair of your own"),
        (["pull", *FILES, "--name", "demo"], "There is a pair called demo already"),
        (["pull", *FILES, "--name", "../mine"], "cannot be a pair's name"),
        (["pull", "--target", "nowhere", "--draft", "a/b"], "does not name a file on the hub"),
        (["pull", "tiny", "--context", "few"], "--context must be a whole number"),
        (["pull", "tiny", "--kv-type", "q9"], "--kv-type must be one of"),
        (["show", "nobodys"], "There is no pair called nobodys"),
        (["show"], "PAIR"),
        (["rm", "demo"], "The demo pair is no pair of the hub"),
        (["rm", "\x1b[31mred"], "There is no pair called ␛[31mred"),
        (["match", "/nowhere/big.gguf"], "There is no file /nowhere/big.gguf"),
        (["list", "tiny"], "There is no tiny"),
    ],
)
def test_wrong_calls_are_told_in_words_and_leave_with_2(desk: Desk, arguments: list[str], words: str) -> None:
    done = run(desk, *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert words in done.stderr
    assert desk.hub.seen == []


def test_without_a_name_yes_means_the_pair_for_this_machine(desk: Desk) -> None:
    done = run(desk, "pull")
    assert "localspec pull" in done.stderr
    # The catalog's own pairs are on another hub than this one, which says so.
    proposed = done.stderr.split()[-1]
    assert run(desk, "pull", "--yes").returncode == 1
    assert any(proposed.split("-")[0].lower() in seen.path.lower() for seen in desk.hub.seen)


def test_the_list_says_what_is_here_what_fits_and_why_not(desk: Desk) -> None:
    fine(desk, "pull", "tiny")
    add_to_pair(desk, '[pairs."a-pair-with-a-name-that-is-longer-than-the-others"]', 'target = "target"')
    add_to_pair(desk, 'draft = "draft"', 'licence = "A licence with a very long name, longer than a line"')
    lines = fine(desk, "list").splitlines()
    assert lines[0].split() == ["NAME", "SIZE", "PULLED", "FITS", "LICENCE"]
    assert next(line for line in lines if line.startswith("tiny ")).split()[1:5] == ["3", "MB", "yes", "yes"]
    assert any(line.startswith("llama3.3-70b ") for line in lines)
    assert lines[lines.index("a-pair-with-a-name-that-is-longer-than-the-others") + 1].endswith("…")
    document = told(desk, "list")
    assert set(document) == {"schema", "memory", "pairs"}
    assert set(document["memory"]) == {"name", "total_bytes", "usable_bytes"}
    assert all(set(state) == STATE for state in document["pairs"])
    assert [state["pair"]["name"] for state in document["pairs"] if state["pulled"]].count("tiny") == 1
    assert desk.hub.bytes_sent() < 10_000_000


def test_a_pair_too_large_for_this_machine_says_so_in_the_list(desk: Desk) -> None:
    add_to_pair(desk, "memory = 4000")
    lines = fine(desk, "list").splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith("tiny "))
    assert lines[row].split()[3:5] == ["no", "no"]
    assert lines[row + 1].startswith("  meant for 4000 GB of memory; this machine has ")


def test_show_tells_terms_files_and_fit_before_and_after_a_pull(desk: Desk) -> None:
    add_to_pair(desk, 'licence = "MIT"', 'notes = "Small."', "sampling = { temperature = 0.2, top_p = 0.9 }")
    before = fine(desk, "show", "tiny")
    for words in ("MIT", "not here", "temperature 0.2, top-p 0.9", "Small.", "Fetch it: localspec pull tiny"):
        assert words in before
    assert set(told(desk, "show", "tiny")) == {"schema", "target", "draft", "memory", "problem", *STATE}
    assert desk.hub.seen == []
    fine(desk, "pull", "tiny")
    after = fine(desk, "show", "tiny")
    assert str(desk.cached("target")) in after
    assert "Talk to it: localspec chat --pair tiny" in after
    document = told(desk, "show", "tiny")
    assert set(document["target"]) == MODEL
    assert set(document["memory"]) == MEMORY


def test_words_of_a_pair_that_are_blank_are_left_out(desk: Desk) -> None:
    add_to_pair(desk, *(f'{key} = " "' for key in ("title", "purpose", "licence", "terms", "notes")))
    shown = fine(desk, "show", "tiny")
    assert shown.startswith("tiny: tiny\n")
    assert "notes" not in shown
    assert "not known to localspec" in shown
    fine(desk, "list")
    assert "tiny: tiny\n" in fine(desk, "pull", "tiny")


def test_match_names_what_fits_and_why_the_others_do_not(desk: Desk, tmp_path: Path) -> None:
    fine(desk, "pull", "tiny")
    models = Path(desk.environment["LOCALSPEC_CACHE_DIR"]) / "models"
    models.mkdir(parents=True)
    (models / "other.gguf").write_bytes(TinyModel(tokens=tokens(500)).bytes())
    (models / "broken.gguf").write_bytes(b"GGUF")
    target = tmp_path / "target.gguf"
    shutil.copy(desk.target, target)
    words = fine(desk, "match", str(target))
    fitting, _, others = words.partition("These cannot:")
    assert "small-q4.gguf, 0 MB (tiny)" in fitting
    assert "vocabulary size: the target has 260 tokens, the draft 500" in others
    assert "damaged file:" in others
    document = told(desk, "match", str(target), "--context", "512")
    assert set(document) == {"schema", "target", "context", "kv_type", "candidates"}
    candidate = {"path", "name", "bytes", "fits", "reason", "words", "memory"}
    assert all(set(one) == candidate for one in document["candidates"])
    assert [one["fits"] for one in document["candidates"]] == [True, False, False, False]
    broken = run(desk, "match", str(models / "broken.gguf"))
    assert (broken.returncode, "is not a sound GGUF" in broken.stderr) == (1, True)


def test_rm_says_what_it_freed_and_what_stays(desk: Desk) -> None:
    assert fine(desk, "rm", "tiny") == "Nothing of tiny was on this machine.\n"
    add_to_pair(desk, "[pairs.twin]", 'target = "target"', 'draft = "draft"')
    fine(desk, "pull", "tiny")
    kept = told(desk, "rm", "tiny")
    assert set(kept) == {"schema", "pair", "freed_bytes", "forgotten", "files"}
    assert [set(file) for file in kept["files"]] == [{"file", "path", "freed_bytes", "kept_because"}] * 2
    words = fine(desk, "rm", "tiny")
    assert words.startswith("tiny: 0 MB freed\n")
    assert "stays: twin uses it too" in words
    assert str(desk.cached("target")) in words
    desk.write_catalog()
    assert fine(desk, "rm", "tiny").startswith("tiny: 3 MB freed\n")
    assert desk.check_cache() == {}


def test_texts_are_wrapped_but_what_is_to_be_copied_stays_whole() -> None:
    path = "/a" * 60
    lines = facts(
        [("short", "word " * 40), ("a longer one", f"here\n{path}"), ("left out", ""), ("blank", " \n\u3000")]
    )
    assert all(len(line) <= 80 for line in lines if path not in line)
    assert lines[-1].strip() == path
    assert lines[0].index("word") == lines[-1].index("/a")
    assert sentence("one two", "  ") == ["  one two"]


def test_no_pair_of_ones_own_is_called_as_the_demo(desk: Desk) -> None:
    desk.hub.add("somebody/demo-GGUF", desk.target, "demo.gguf")
    sources = ["--target", "somebody/demo-GGUF", "--draft", "somebody/draft-GGUF"]
    assert told(desk, "pull", *sources)["pulled"]["pair"]["name"] == "demo-2"


@pytest.mark.parametrize("command", ["pull", "list", "show", "match", "rm"])
def test_help_loads_nothing_heavy_and_fits_80_columns(command: str) -> None:
    code = (
        "import sys\nfrom localspec.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'psutil', 'huggingface_hub'} & set(sys.modules)), file=sys.stderr)"
    )
    asked = [sys.executable, "-c", code, command, "--help"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True, env={"COLUMNS": "80"})
    assert done.stderr == "[]\n"
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
