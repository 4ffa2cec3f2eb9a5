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
        Fault("drop", times=1, after=0),
        Fault("drop", times=1, where="hub"),
        Fault("stall", times=1, after=100_000),
        Fault("stall", times=1, where="hub"),
        Fault("status", times=2, status=500),
        Fault("status", times=1, status=503, where="hub"),
        Fault("status", times=1, status=429, headers={"Retry-After": "1"}),
        Fault("status", times=1, status=429, headers={"Retry-After": "1"}, where="hub"),
        Fault("slow", rate=3_000_000),
    ],
    ids=lambda fault: f"{fault.where}-{fault.kind}-{fault.status if fault.kind == 'status' else fault.after}",
)
def test_a_fault_that_passes_ends_in_a_whole_pair(desk, fault):
    desk.hub.faults = [fault]
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (Fault("drop", after=0), "The connection to the hub broke off, again and again"),
        (Fault("stall", after=0), "The hub does not answer in time"),
        (Fault("status", status=500), "The hub is in trouble (500)"),
        (Fault("status", status=500, where="hub"), "The hub is in trouble (500)"),
        (Fault("status", status=403), "The hub does not let you read somebody/target-GGUF"),
        (Fault("status", status=429), "The hub asks to wait: too many requests (429)"),
        (Fault("status", status=429, headers={"Retry-After": "3600"}), "The hub asks to wait: too many requests (429)"),
        (Fault("whole"), "HUB does not send parts of files"),
        (Fault("drop", where="hub"), "The connection to the hub broke off, again and again"),
        (Fault("stall", where="hub"), "The hub does not answer in time"),
    ],
    ids=lambda value: f"{value.where}-{value.kind}-{value.status}-{value.headers}" if isinstance(value, Fault) else "",
)
def test_a_hub_that_never_answers_is_told_in_words_and_leaves_nothing(desk, fault, title):
    desk.hub.faults = [fault]
    outcome = desk.pull()
    assert outcome.returncode == 1, outcome
    assert outcome.told("error")["title"] == title.replace("HUB", desk.hub.endpoint)
    assert outcome.told("error")["hint"]
    assert desk.check_cache() == {}
    desk.hub.faults = []
    assert desk.pull().returncode == 0
    assert_pulled(desk)
