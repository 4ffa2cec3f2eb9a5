"""What of the catalog is on this machine, what fits, what may be deleted, and what to run."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from localspec import locations
from localspec.errors import LocalspecError, ModelFileError
from localspec.pairs.as_json import candidate_values, details_values, removed_values, state_values
from localspec.pairs.catalog import Catalog, load_catalog, remember_pair
from localspec.pairs.choosing import first_choice, paths_of
from localspec.pairs.compatibility import Reason
from localspec.pairs.fetched import fetching, was_fetched
from localspec.pairs.found import locate
from localspec.pairs.hub_cache import Place
from localspec.pairs.listing import list_pairs, show_pair
from localspec.pairs.match import match_drafts
from localspec.pairs.memory_fit import Memory, Wanted
from localspec.pairs.pair import ModelFile, Pair
from localspec.pairs.progress import Meter
from localspec.pairs.remove import remove_pair
from tests.pairs.gguf_files import TinyModel, tokens

PLENTY = Memory("memory", 64 * 10**9, 60 * 10**9)
NOTHING = Memory("memory", 2 * 10**9, 1)
COMMIT = "c" * 40


@dataclass
class Cache:
    """A hub cache, filled by hand in the hub client's layout."""

    root: Path

    def file(self, name: str, content: bytes, *, fetched: bool = True, here: bool = True) -> ModelFile:
        """A file of the repo some/NAME, in the cache unless told otherwise."""
        digest = hashlib.sha256(content).hexdigest()
        file = ModelFile(name, f"some/{name}", COMMIT, f"{name}.gguf", len(content), digest)
        if here and fetched:
            with fetching(self.root / f"models--some--{name}" / "snapshots" / COMMIT / file.file):
                self.link(file, content)
        elif here:
            self.link(file, content)
        return file

    def link(self, file: ModelFile, content: bytes) -> Path:
        folder = self.root / f"models--{file.repo.replace('/', '--')}"
        blob, link = folder / "blobs" / file.sha256, folder / "snapshots" / file.revision / file.file
        blob.parent.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content)
        link.symlink_to(os.path.relpath(blob, link.parent))
        return link

    def everything(self) -> list[Path]:
        """All but the locks, which stay: another process may wait for one."""
        return [path for path in self.root.rglob("*") if ".locks" not in path.parts]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    for what in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"LOCALSPEC_{what}_DIR", str(tmp_path / what.lower()))
    for name in ("HOME", "XDG_CACHE_HOME", "LLAMA_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return Cache(tmp_path / "hub")


BIG = TinyModel(layers=12).bytes()
SMALL = TinyModel(layers=1).bytes()
SMALL_TOO = TinyModel(layers=1, fill=b"x").bytes()


def pair_of(target, draft, name="mine", memory=8, **more):
    return Pair(name, name.title(), "tests", "MIT", "https://example.org", memory, target, draft, 512, **more)


def catalog_of(*pairs):
    return Catalog({pair.name: pair for pair in pairs}, {})


def quiet():
    return Meter(lambda _: None)


def test_a_pulled_pair_is_judged_by_its_headers(cache):
    pair = pair_of(cache.file("big", BIG), cache.file("small", SMALL))
    (state,) = list_pairs(catalog_of(pair), PLENTY)
    assert state.pulled
    assert state.fits
    assert "needs" in state.fit_words
    details = show_pair(pair, NOTHING)
    assert not details.state.fits
    assert "no context is short enough" in details.state.fit_words
    assert details.headers.target.layers == 12
    assert details.problem is None


def test_a_pair_that_is_not_here_is_judged_by_its_catalog_entry(cache):
    pair = pair_of(cache.file("big", BIG, here=False), cache.file("small", SMALL))
    (state,) = list_pairs(catalog_of(pair), PLENTY)
    assert not state.pulled
    assert state.draft is not None
    assert (state.fits, state.fit_words) == (True, "meant for 8 GB of memory; this machine has 64.0 GB")
    assert not list_pairs(catalog_of(pair), NOTHING)[0].fits


def test_a_half_pulled_file_is_counted_and_a_damaged_one_is_told(cache):
    big, small = cache.file("big", BIG, here=False), cache.file("small", SMALL)
    partial = cache.root / "models--some--big" / "blobs" / f"{big.sha256}.incomplete"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(BIG[:1000])
    assert list_pairs(catalog_of(pair_of(big, small)), PLENTY)[0].kept == 1000
    small_path = locate(small)
    small_path.resolve().write_bytes(b"x" * len(SMALL))
    state = show_pair(pair_of(small, small), PLENTY).state
    assert not state.fits
    assert "does not start as a GGUF" in state.fit_words


def test_the_shipped_catalog_is_listed_in_no_time_and_asks_nobody(cache):
    states = list_pairs(load_catalog(), PLENTY)
    assert len(states) == 13
    assert not any(state.pulled for state in states)
    assert not cache.root.exists()


def test_a_removed_pair_leaves_nothing(cache):
    pair = pair_of(cache.file("big", BIG), cache.file("small", SMALL))
    removed = remove_pair(pair, catalog_of(pair))
    assert removed.freed == len(BIG) + len(SMALL)
    assert not removed.forgotten
    assert cache.everything() == []


def test_a_half_pulled_pair_is_removed_too(cache):
    big = cache.file("big", BIG, here=False)
    partial = cache.root / "models--some--big" / "blobs" / f"{big.sha256}.incomplete"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(BIG[:1000])
    pair = pair_of(big, cache.file("small", SMALL, here=False))
    assert remove_pair(pair, catalog_of(pair)).freed == 1000
    assert cache.everything() == []


def test_a_draft_that_another_pulled_pair_uses_stays(cache):
    small = cache.file("small", SMALL)
    mine = pair_of(cache.file("big", BIG), small)
    other = pair_of(cache.file("other", BIG + b"other"), small, name="other")
    absent = pair_of(cache.file("absent", BIG + b"absent", here=False), small, name="absent")
    removed = remove_pair(mine, catalog_of(mine, other, absent))
    assert [removal.kept_because for removal in removed.files] == ["", "other uses it too"]
    assert locate(small) is not None


def test_a_file_of_an_unpulled_pair_does_not_stay(cache):
    small = cache.file("small", SMALL)
    mine = pair_of(cache.file("big", BIG), small)
    absent = pair_of(cache.file("absent", SMALL_TOO, here=False), small, name="absent")
    assert [removal.kept_because for removal in remove_pair(mine, catalog_of(mine, absent)).files] == ["", ""]


def test_a_file_that_another_program_fetched_stays(cache):
    pair = pair_of(cache.file("big", BIG, fetched=False), cache.file("small", SMALL))
    removed = remove_pair(pair, catalog_of(pair))
    assert removed.files[0].kept_because == "localspec did not fetch it: another program may use it"
    assert removed.files[0].path.read_bytes() == BIG
    assert removed.files[1].kept_because == ""


def test_a_file_that_another_revision_shares_stays(cache):
    big = cache.file("big", BIG)
    cache.link(ModelFile("", big.repo, "d" * 40, big.file, big.bytes, big.sha256), BIG)
    pair = pair_of(big, cache.file("small", SMALL))
    removed = remove_pair(pair, catalog_of(pair))
    assert removed.files[0].kept_because == "another revision in the hub's cache is the same file"
    assert removed.files[0].path.read_bytes() == BIG


def test_a_blob_in_the_store_that_repos_share_stays(cache):
    big = cache.file("big", BIG)
    blob = locate(big).resolve()
    store = cache.root / "blobs" / "ab" / "abcd"
    store.parent.mkdir(parents=True)
    blob.rename(store)
    blob.symlink_to(store)
    pair = pair_of(big, cache.file("small", SMALL))
    remove_pair(pair, catalog_of(pair))
    assert store.read_bytes() == BIG
    assert locate(big) is None


def test_a_file_in_another_tools_folder_stays(cache):
    big = cache.file("big", BIG, here=False)
    path = locations.models_folder() / "big.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(BIG)
    pair = pair_of(big, cache.file("small", SMALL))
    assert paths_of(pair, quiet())[0] == path
    removed = remove_pair(pair, catalog_of(pair))
    assert removed.files[0].kept_because == "it belongs to another program"
    assert path.exists()


def test_a_remembered_pair_is_forgotten_when_it_is_removed(cache):
    big, small = cache.file("big", BIG), cache.file("small", SMALL)
    pair = pair_of(big, small, source="remembered")
    remember_pair(pair)
    assert remove_pair(load_catalog().pair("mine"), load_catalog()).forgotten
    assert "mine" not in load_catalog().pairs


def test_what_is_gone_and_comes_back_by_another_program_is_not_taken_for_ours(cache):
    big, small = cache.file("big", BIG), cache.file("small", SMALL)
    remove_pair(pair_of(big, small), catalog_of())
    link = cache.link(big, BIG)
    assert not was_fetched(link)
    assert remove_pair(pair_of(big, small), catalog_of()).files[0].path == link
    assert link.exists()


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("record", "words"), [("fetched", "fetches cannot be noted"), ("catalog", "mine cannot be forgotten")]
)
def test_a_deletion_that_cannot_be_noted_is_done_and_told_and_noted_the_next_time(cache, monkeypatch, record, words):
    pair = pair_of(cache.file("big", BIG), cache.file("small", SMALL), source="remembered")
    remember_pair(pair)
    with monkeypatch.context() as patch:
        patch.setattr(f"localspec.pairs.{record}.write_whole", full)
        with pytest.raises(LocalspecError, match=words) as told:
            remove_pair(pair, load_catalog())
    assert str(locations.data_folder()) in told.value.hint
    assert cache.everything() == []
    assert remove_pair(pair, load_catalog()).forgotten
    assert "mine" not in load_catalog().pairs
    assert not was_fetched(cache.link(pair.target, BIG))


def test_paths_of_a_pulled_pair_are_checked_once(cache):
    pair = pair_of(cache.file("big", BIG), cache.file("small", SMALL))
    told = []
    paths = paths_of(pair, Meter(lambda progress: told.append(progress.what)))
    assert [path.read_bytes() for path in paths] == [BIG, SMALL]
    assert len(told) == 2
    assert paths_of(pair, Meter(lambda progress: told.append(progress.what))) == paths
    assert len(told) == 2


def test_a_pair_that_is_not_here_says_how_to_get_it(cache):
    pair = pair_of(cache.file("big", BIG, here=False), cache.file("small", SMALL))
    with pytest.raises(LocalspecError) as caught:
        paths_of(pair, quiet())
    assert caught.value.title == "The pair mine is not on this machine"
    assert caught.value.hint == "Fetch it: localspec pull mine"


def test_a_damaged_file_is_not_run(cache):
    big = cache.file("big", BIG)
    locate(big).resolve().write_bytes(BIG[:-1] + b"x")
    with pytest.raises(LocalspecError, match="The pair mine is damaged"):
        paths_of(pair_of(big, cache.file("small", SMALL)), quiet())


def test_the_best_pulled_pair_is_the_largest_that_fits(cache):
    big, small = cache.file("big", BIG), cache.file("small", SMALL)
    pairs = [pair_of(big, small, name=f"p{memory}", memory=memory) for memory in (4, 16, 8)]
    absent = pair_of(cache.file("absent", BIG + b"x", here=False), small, name="p32", memory=32)
    assert first_choice(catalog_of(*pairs, absent), PLENTY).best.pair.name == "p16"


@pytest.mark.usefixtures("cache")
def test_with_nothing_pulled_the_default_for_this_memory_is_proposed():
    choice = first_choice(load_catalog(), Memory("memory", 16 * 10**9, 14 * 10**9))
    assert choice.best is None
    assert choice.proposal.name == "qwen2.5-coder-7b"
    assert "5.2 GB to download" in choice.proposal_words
    assert "Apache-2.0" in choice.proposal_words


def test_match_judges_every_model_here_and_says_why(cache, tmp_path):
    target = tmp_path / "target.gguf"
    target.write_bytes(BIG)
    models = {
        "fits": TinyModel(),
        "type": TinyModel(tokenizer="llama"),
        "size": TinyModel(tokens=tokens(500)),
        "token": TinyModel(tokens=[*tokens()[:-1], "other"]),
        "hybrid": TinyModel(architecture="mamba"),
        "large": TinyModel(layers=11),
    }
    for name, model in models.items():
        cache.file(name, model.bytes())
    folder = locations.models_folder()
    folder.mkdir(parents=True)
    (folder / "broken.gguf").write_bytes(b"GGUF")
    (folder / "same as fits.gguf").symlink_to(locate(cache.file("x", models["fits"].bytes(), here=False)))
    found = match_drafts(target, PLENTY, Wanted(512))
    assert next(candidate.path.stem for candidate in found) == "fits"
    assert {candidate.path.stem: candidate.reason for candidate in found} == {
        "fits": None,
        "type": Reason.TOKENIZER_TYPE,
        "size": Reason.SIZE,
        "token": Reason.TOKEN,
        "hybrid": Reason.HYBRID,
        "large": Reason.TOO_LARGE,
        "broken": Reason.NOT_SOUND,
    }
    assert all(candidate.fits or candidate.words for candidate in found)
    (tight,) = match_drafts(
        target, NOTHING, Wanted(512), [locate(cache.file("fits", models["fits"].bytes(), here=False))]
    )
    assert tight.reason is Reason.MEMORY


@pytest.mark.usefixtures("cache")
def test_match_refuses_a_target_that_is_none(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_text("text")
    with pytest.raises(ModelFileError):
        match_drafts(path, PLENTY, Wanted(512))


def test_all_that_is_found_is_plain_json(cache, tmp_path):
    target = tmp_path / "target.gguf"
    target.write_bytes(BIG)
    pair = pair_of(cache.file("big", BIG), cache.file("small", SMALL))
    absent = pair_of(cache.file("absent", BIG + b"x", here=False), pair.draft, name="absent")
    told = [
        state_values(list_pairs(catalog_of(pair), PLENTY)[0]),
        details_values(show_pair(pair, PLENTY)),
        details_values(show_pair(absent, PLENTY)),
        *(candidate_values(one) for one in match_drafts(target, PLENTY, Wanted(512))),
        removed_values(remove_pair(pair, catalog_of(pair))),
    ]
    text = json.dumps(told)
    assert len(text) < 20_000  # no vocabulary in it
    assert json.loads(text)[0]["pair"]["target"]["sha256"] == pair.target.sha256


def test_where_links_cannot_be_made_the_snapshot_holds_the_bytes(cache, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    digest = hashlib.sha256(BIG).hexdigest()
    place = Place("some/big", COMMIT, "q4/big.gguf", digest)
    place.partial.parent.mkdir(parents=True)
    place.partial.write_bytes(BIG)
    with fetching(place.snapshot):
        place.complete()
        link = place.link()
    assert link.read_bytes() == BIG
    assert place.held == link == place.link()
    file = ModelFile("big", "some/big", COMMIT, "q4/big.gguf", len(BIG), digest)
    pair = pair_of(file, cache.file("absent", SMALL, here=False))
    assert remove_pair(pair, catalog_of(pair)).freed == len(BIG)
    assert cache.everything() == []
