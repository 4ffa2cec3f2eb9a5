"""What the hub refuses, and what it must not be believed."""

from __future__ import annotations

import hashlib

import pytest

from tests.hub.test_pull import assert_pulled
from tests.pairs.gguf_files import TinyModel, tokens


def refusal(outcome):
    assert outcome.returncode == 1, outcome
    return outcome.told("error")


def test_a_gated_repo_says_where_to_accept_its_terms(desk):
    desk.hub.repos["somebody/target-GGUF"].gated = True
    error = refusal(desk.pull())
    assert error["title"] == "somebody/target-GGUF is gated"
    assert f"Accept them at {desk.hub.endpoint}/somebody/target-GGUF" in error["hint"]
    assert not desk.cache.exists()


def test_a_gated_repo_tells_a_known_person_to_use_that_account(desk):
    desk.hub.repos["somebody/target-GGUF"].gated = True
    error = refusal(desk.pull(HF_TOKEN="hf_stranger"))
    assert error["title"] == "somebody/target-GGUF is gated, and your account may not read it"


def test_a_token_opens_a_gated_repo_and_goes_to_nobody_but_the_hub(desk):
    desk.hub.repos["somebody/target-GGUF"].gated = True
    desk.hub.members.add("hf_member")
    outcome = desk.pull(HF_TOKEN="hf_member")
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)
    assert {seen.authorization for seen in desk.hub.seen if seen.where == "hub"} == {"Bearer hf_member"}
    assert {seen.authorization for seen in desk.hub.seen if seen.where == "storage"} == {None}


def test_a_private_repo_is_not_told_from_a_missing_one(desk):
    desk.hub.repos["somebody/target-GGUF"].private = True
    assert refusal(desk.pull())["title"] == "The hub has no repo somebody/target-GGUF"
    assert refusal(desk.pull(HF_TOKEN="hf_stranger"))["title"] == "The hub has no repo somebody/target-GGUF"


@pytest.mark.parametrize(
    ("change", "title"),
    [
        ({"repo": "somebody/Nothing-GGUF"}, "The hub has no repo somebody/Nothing-GGUF"),
        ({"revision": "v9"}, "somebody/target-GGUF has no revision v9"),
        ({"file": "other.gguf"}, "somebody/target-GGUF has no file other.gguf"),
    ],
)
def test_what_is_not_there_is_named(desk, change, title):
    desk.write_catalog(**change)
    assert refusal(desk.pull())["title"] == title
    assert not desk.cache.exists()


def test_a_file_changed_under_its_name_is_refused_before_it_is_fetched(desk):
    changed = desk.folder / desk.target.name
    changed.write_bytes(TinyModel(layers=6, width=128, fill=b"other").bytes())
    desk.hub.add("somebody/target-GGUF", changed)
    desk.write_catalog(revision="main", sha256="0" * 64)
    error = refusal(desk.pull())
    assert error["title"] == "The hub offers another file as big-q8.gguf than the catalog names"
    assert desk.hub.bytes_sent() == 0
    assert not desk.cache.exists()


def test_a_pinned_commit_keeps_its_file_when_the_branch_moves_on(desk):
    changed = desk.folder / desk.target.name
    changed.write_bytes(TinyModel(layers=6, width=128, fill=b"other").bytes())
    desk.hub.add("somebody/target-GGUF", changed)
    assert desk.pull().returncode == 0
    assert_pulled(desk)


def test_a_branch_is_resolved_and_noted_for_offline_use(desk):
    desk.write_catalog(revision="main", sha256="", bytes="")
    assert desk.pull().returncode == 0
    assert_pulled(desk)
    offline = desk.pull(HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline
    assert offline.told("pulled")["fetched"] == 0


def test_offline_mode_is_told_and_asks_nobody(desk):
    error = refusal(desk.pull(HF_HUB_OFFLINE="1"))
    assert error["title"] == "The hub must not be asked: offline mode is on"
    assert desk.hub.seen == []


def test_a_hub_that_is_not_there_is_told(desk):
    error = refusal(desk.pull(HF_ENDPOINT="http://127.0.0.1:9"))
    assert error["kind"] == "HubUnreachableError"
    assert error["title"] == "The hub cannot be reached"


def test_a_proxy_is_used(desk):
    # The hub itself serves as the proxy: it answers requests for any host.
    outcome = desk.pull(HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=desk.hub.endpoint, NO_PROXY="127.0.0.1")
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)
    assert all(seen.path.startswith("http://hub.invalid/") for seen in desk.hub.seen if seen.where == "hub")


def test_a_proxy_that_is_not_there_is_told(desk):
    error = refusal(desk.pull(HTTP_PROXY="http://127.0.0.1:9"))
    assert error["kind"] == "HubUnreachableError"


@pytest.mark.parametrize(
    "claims",
    [
        {"X-Repo-Commit": "../../../../escape"},
        {"X-Repo-Commit": ""},
        {"X-Linked-Etag": '"../../../../escape"', "ETag": ""},
        {"X-Linked-Etag": "", "ETag": ""},
        {"X-Linked-Size": "", "Content-Length": ""},
        {"X-Linked-Size": "-5"},
    ],
)
def test_a_hub_that_lies_about_names_writes_nowhere(desk, claims):
    desk.write_catalog(revision="main", sha256="", bytes="")
    desk.hub.claims = claims
    before = sorted(desk.folder.rglob("*"))
    error = refusal(desk.pull())
    assert "does not answer as a hub does" in error["title"]
    after = [path for path in desk.folder.rglob("*") if path not in before]
    assert all("data" in path.parts or "cache" in path.parts for path in after), after


@pytest.mark.parametrize("etag", ["1234-5678", "a" * 40])
def test_a_mirror_without_hashes_will_do_where_the_catalog_knows_the_hash(desk, etag):
    desk.write_catalog()
    desk.hub.claims = {"X-Linked-Etag": f'"{etag}"', "ETag": ""}
    assert desk.pull().returncode == 0
    assert_pulled(desk)


def test_a_pair_that_does_not_match_is_refused_before_its_gigabytes(desk):
    other = desk.folder / desk.draft.name
    names = tokens(260)
    names[200] = "another"
    other.write_bytes(TinyModel(tokens=names, layers=2).bytes())
    desk.draft = other
    desk.hub.add("somebody/draft-GGUF", other)
    desk.write_catalog()
    error = refusal(desk.pull())
    assert error["kind"] == "PairMismatchError"
    assert error["title"] == "small-q4.gguf cannot draft for big-q8.gguf"
    assert "Token 200 is" in error["message"]
    assert "'another' in the draft" in error["message"]
    assert desk.hub.bytes_sent() < 500_000
    assert not desk.cache.exists()


def test_a_file_that_is_no_gguf_is_refused_before_it_is_fetched(desk):
    page = desk.folder / desk.draft.name
    page.write_text("<html>" + "x" * 100_000)
    desk.draft = page
    desk.hub.add("somebody/draft-GGUF", page)
    desk.write_catalog()
    error = refusal(desk.pull())
    assert error["title"] == "small-q4.gguf is not a sound GGUF file"
    assert not desk.cache.exists()


def test_a_small_file_that_git_itself_holds_is_checked_by_gits_hash(desk):
    content = desk.draft.read_bytes()
    held = desk.hub.file("somebody/draft-GGUF", desk.draft.name)
    held.etag = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    desk.write_catalog(part="draft", sha256="", bytes="")
    assert desk.pull().returncode == 0
    assert desk.cached("draft").read_bytes() == content
    assert desk.pull(HF_HUB_OFFLINE="1").returncode == 0
    desk.cached("draft").resolve().write_bytes(content[:-1] + b"x")
    assert desk.pull().returncode == 0
    assert desk.cached("draft").read_bytes() == content
