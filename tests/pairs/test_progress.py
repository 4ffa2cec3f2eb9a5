"""What a pull says of itself while it runs."""

from __future__ import annotations

import pytest

from localspec.pairs import progress as module
from localspec.pairs.progress import Meter, PullProgress


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when told to."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_speed_and_time_left_come_from_the_last_ten_seconds(clock):
    told = []
    meter = Meter(told.append)
    meter.total = 100_000_000
    meter.begin("downloading x")
    for second in range(30):
        clock[0] += 1
        meter.fetched(1_000_000 if second < 15 else 2_000_000)
    assert told[-1].per_second == 2_000_000
    assert told[-1].done == 45_000_000
    assert told[-1].seconds_left == pytest.approx(27.5)


def test_what_was_there_before_is_told_apart_and_is_no_speed(clock):
    told = []
    meter = Meter(told.append)
    meter.total = 10
    meter.resume(4)
    meter.found(2)
    clock[0] += 1
    assert (told[-1].done, told[-1].resumed, told[-1].per_second) == (6, 4, 0)
    assert told[-1].seconds_left is None
    meter.lost(4)
    assert (told[-1].done, told[-1].resumed) == (2, 0)


def test_reports_come_ten_times_a_second_at_most(clock):
    told = []
    meter = Meter(told.append)
    meter.begin("downloading x")
    for _ in range(1000):
        clock[0] += 0.01
        meter.fetched(1)
    assert len(told) <= 102


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (PullProgress("looking for x", 0, 0), "looking for x"),
        (
            PullProgress("downloading x.gguf", 2_100_000_000, 5_200_000_000, 1_200_000_000, 31_000_000),
            "2.1 GB of 5.2 GB (40%), 31.0 MB/s, 1 min 40 s left, 1.2 GB from before: downloading x.gguf",
        ),
        (
            PullProgress("downloading x.gguf", 0, 5_200_000_000, note="no answer, trying again in 2 s (1 of 6)"),
            "0 MB of 5.2 GB (0%), no answer, trying again in 2 s (1 of 6): downloading x.gguf",
        ),
        (
            PullProgress("downloading x", 0, 7_200_000_000, 0, 1_000_000),
            "0 MB of 7.2 GB (0%), 1.0 MB/s, 2 h 0 min left: downloading x",
        ),
    ],
)
def test_progress_is_told_in_one_line(progress, words):
    assert progress.words == words
