import pytest

from localspec.tui.pace import Pace


class Processor:
    """Seconds of processor time, as a test says."""

    def __init__(self) -> None:
        self.used = 0.0

    def __call__(self) -> float:
        return self.used


def pace(processor: Processor, share: float = 0.03) -> Pace:
    return Pace(share, fastest=0.05, slowest=0.5, clock=processor)


def test_frames_take_their_share_of_the_time_whatever_one_costs():
    processor = Processor()
    paced = pace(processor)
    for cost in (0.002, 0.006, 0.012):
        processor.used += cost
        assert cost / paced.next_delay() == pytest.approx(0.03)


def test_cheap_frames_come_no_faster_than_the_fastest():
    processor = Processor()
    paced = pace(processor)
    processor.used += 0.0001
    assert paced.next_delay() == 0.05


def test_dear_frames_come_all_the_same():
    processor = Processor()
    paced = pace(processor)
    processor.used += 3.0
    assert paced.next_delay() == 0.5


def test_what_was_computed_before_the_beginning_is_not_counted():
    processor = Processor()
    paced = pace(processor)
    processor.used += 3.0
    paced.begin()
    assert paced.next_delay() == 0.05
