"""A pull from a hub in good order, and from one where anything fails: whole and checked, or told in words."""

from __future__ import annotations

import pytest

from tests.hub.server import Fault


def assert_pulled(desk):
    """Both files are where every tool finds them, and are what the hub has."""
    for which in ("target", "draft"):
        found = desk.cached(which)
        assert found is not None, f"{which} is not in the cache"
        assert found.read_bytes() == getattr(desk, which).read_bytes()
    assert desk.check_cache() == {}


def test_a_pair_is_fetched_whole_into_the_hubs_own_layout(desk):
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)
    pulled = outcome.told("pulled")
    assert pulled["fetched"] == desk.target.stat().st_size + desk.draft.stat().st_size
    assert pulled["target"] == str(desk.cached("target"))


def test_a_second_pull_asks_nobody(desk):
    desk.pull()
    desk.hub.seen.clear()
    outcome = desk.pull(HF_HUB_OFFLINE="1")
    assert outcome.returncode == 0
    assert outcome.told("pulled")["fetched"] == 0
    assert desk.hub.seen == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault("drop", times=2, after=100_000),
        Fault("drop", times=2, after=900_000, downloads_only=True),
        Fault("drop", times=1, where="hub"),
        Fault("stall", times=1, after=100_000),
        Fault("stall", times=1, after=500_000, downloads_only=True),
        Fault("stall", times=1, where="hub"),
        Fault("status", times=2, status=500),
        Fault("status", times=1, status=503, where="hub"),
        Fault("status", times=1, status=429, headers={"Retry-After": "1"}),
        Fault("status", times=1, status=429, headers={"Retry-After": "1"}, downloads_only=True),
        Fault("status", times=1, status=429, headers={"RateLimit": '"api";r=0;t=1'}, where="hub"),
        Fault("slow", rate=3_000_000),
        Fault("whole", downloads_only=True),
        Fault("cut", times=2, after=900_000, downloads_only=True),
        Fault("status", times=1, status=416, downloads_only=True),
        Fault("status", times=1, status=204, downloads_only=True),
    ],
    ids=str,
)
def test_a_fault_that_passes_ends_in_a_whole_pair(desk, fault):
    desk.hub.faults = [fault]
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)


def test_what_came_before_a_lost_connection_is_not_fetched_again(desk):
    desk.hub.faults = [Fault("drop", times=3, after=700_000, downloads_only=True)]
    outcome = desk.pull()
    assert "the connection broke off, trying again in 0 s (1 of 3)" in outcome.notes
    sent = sum(seen.sent for seen in desk.hub.seen if seen.where == "storage" and (seen.range or "").endswith("-"))
    whole = desk.target.stat().st_size + desk.draft.stat().st_size
    assert whole <= sent + 3 * 700_000 < whole + 3 * 700_000 + 1
    assert_pulled(desk)


def test_a_server_that_forgets_the_range_midway_does_no_harm(desk):
    cut = Fault("drop", times=1, after=900_000, downloads_only=True)
    desk.hub.faults = [cut, Fault("whole", times=1, downloads_only=True)]
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)


def test_a_server_that_sends_another_part_than_was_asked_for_is_not_believed(desk):
    cut = Fault("drop", times=1, after=900_000, downloads_only=True)
    desk.hub.faults = [cut, Fault("shifted", times=1, downloads_only=True)]
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert outcome.told("pulled")["resumed"] == 0
    assert_pulled(desk)


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (Fault("drop", after=0), "The connection to the hub broke off, again and again"),
        (Fault("stall", after=0), "The hub does not answer in time"),
        (Fault("status", status=500), "The hub is in trouble (500)"),
        (Fault("status", status=500, where="hub"), "The hub is in trouble (500)"),
        # Both files are asked about at once: either may be refused first.
        (Fault("status", status=403), "The hub does not let you read somebody/"),
        (Fault("status", status=429), "The hub asks to wait: too many requests (429)"),
        (Fault("status", status=429, headers={"Retry-After": "3600"}), "The hub asks to wait: too many requests (429)"),
        (Fault("whole"), "HUB does not send parts of files"),
        (Fault("drop", where="hub"), "The connection to the hub broke off, again and again"),
        (Fault("stall", where="hub"), "The hub does not answer in time"),
    ],
    ids=lambda value: str(value) if isinstance(value, Fault) else "",
)
def test_a_hub_that_never_answers_is_told_in_words_and_leaves_nothing(desk, fault, title):
    desk.hub.faults = [fault]
    outcome = desk.pull()
    assert outcome.returncode == 1, outcome
    assert outcome.told("error")["title"].startswith(title.replace("HUB", desk.hub.endpoint))
    assert outcome.told("error")["hint"]
    assert desk.check_cache() == {}
    desk.hub.faults = []
    assert desk.pull().returncode == 0
    assert_pulled(desk)


DOWNLOADS = {"downloads_only": True}


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (Fault("drop", after=60_000, **DOWNLOADS), "The connection to the hub broke off, again and again"),
        (Fault("stall", after=60_000, **DOWNLOADS), "The hub does not answer in time"),
        (Fault("status", status=500, **DOWNLOADS), "The hub is in trouble (500)"),
        (Fault("status", status=403, **DOWNLOADS), "The hub does not let you read somebody/target-GGUF"),
        (Fault("status", status=404, **DOWNLOADS), "The hub refuses the request (404)"),
        (Fault("wrong", **DOWNLOADS), "big-q8.gguf arrived with other contents than the hub promises"),
        (Fault("cut", after=60_000, **DOWNLOADS), "The connection to the hub broke off, again and again"),
        (Fault("status", status=416, **DOWNLOADS), "The connection to the hub broke off, again and again"),
        (Fault("short", after=900_000, **DOWNLOADS), "The hub sends big-q8.gguf with another length than it promises"),
    ],
    ids=lambda value: str(value) if isinstance(value, Fault) else "",
)
def test_a_download_that_fails_is_told_in_words_and_the_next_one_goes_on(desk, fault, title):
    desk.hub.faults = [fault]
    outcome = desk.pull()
    assert outcome.returncode == 1, outcome
    assert outcome.told("error")["title"] == title
    kept = sum(desk.check_cache().values())
    assert bool(kept) is (fault.kind in {"drop", "stall", "cut"})
    assert desk.cached("target") is None
    desk.hub.faults = []
    again = desk.pull()
    assert again.returncode == 0, again
    assert again.told("pulled")["resumed"] == kept
    assert again.told("pulled")["fetched"] == desk.target.stat().st_size + desk.draft.stat().st_size - kept
    assert_pulled(desk)
