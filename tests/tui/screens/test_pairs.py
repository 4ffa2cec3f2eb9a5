"""The pairs in the app: chosen, pulled from a real hub on loopback, stopped, resumed, refused and deleted."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from localspec import locations
from localspec.pairs import demo
from localspec.pairs.catalog import load_catalog
from localspec.pairs.choosing import FirstChoice
from localspec.pairs.memory_fit import Memory
from localspec.settings import Sources
from localspec.settings.choice import Choice, choice_of_files, choice_of_pair
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.pair_list import PairList
from tests.hub.conftest import Desk
from tests.hub.in_process import sit_at
from tests.hub.server import Fault
from tests.hub.test_interruptions import wait_for_bytes
from tests.hub.test_pull import assert_pulled
from tests.pairs.gguf_files import TinyModel, tokens
from tests.tui.screens.host import Shown, showing

NOTHING = Sources({}, {}, {})


@pytest.fixture
def desk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    sit_at(desk, monkeypatch)
    return desk


@asynccontextmanager
async def pairs(
    *, sources: Sources = NOTHING, size: tuple[int, int] = (80, 24), go_to: str = "tiny", **also: Any
) -> AsyncIterator[Shown[Choice]]:
    """The screen, with its list made and a row highlighted."""
    async with showing(PairsScreen(sources, **also), size) as shown:
        await browsing(shown)
        if go_to:
            rows = shown.app.screen.query_one(PairList)
            rows.highlighted = next(index for index, option in enumerate(rows.options) if option.id == go_to)
            await shown.pilot.pause()
        yield shown


async def browsing(shown: Shown[Choice]) -> None:
    """Wait until the list is made and a pair can be chosen: while it is made anew, the earlier one is still shown."""
    await shown.until(lambda: "talk to it" in shown.text or "pull it (asks first)" in shown.text)


async def pull(shown: Shown[Choice]) -> None:
    """Have the highlighted pair checked, and pull it."""
    await shown.press("enter")
    await shown.until(lambda: "Enter pulls" in shown.text)
    await shown.press("enter")


def errands() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "errand"]


def row(shown: Shown[Choice], name: str) -> list[str]:
    return next(line.split() for line in shown.text.splitlines() if line.startswith(("  ", "● ")) and name in line)


async def test_a_pull_is_planned_then_done_then_the_pair_is_chosen(desk: Desk) -> None:
    async with pairs() as shown:
        assert row(shown, "tiny") == ["tiny", "3", "MB", "no", "yes", "?"]
        await shown.press("enter")
        await shown.until(lambda: "Enter pulls" in shown.text)
        assert desk.cached("target") is None
        assert "Both models fit each other. Enter pulls 3 MB." in shown.text
        assert "not known to localspec: see the page of somebody/target-GGUF" in shown.text
        await shown.press("enter")
        await browsing(shown)
        assert "tiny is here, whole and checked: 3 MB in" in shown.text
        assert row(shown, "tiny") == ["tiny", "3", "MB", "yes", "yes", "?"]
        await shown.press("enter")
        await shown.until(lambda: shown.results)
    chosen = shown.results[0]
    assert chosen is not None
    assert (chosen.name, chosen.settings.context) == ("tiny", 512)
    assert chosen.loading.target.path.resolve().read_bytes() == desk.target.read_bytes()
    assert chosen.loading.draft is not None


async def test_a_plan_can_be_turned_down(desk: Desk) -> None:
    async with pairs() as shown:
        await shown.press("enter")
        await shown.until(lambda: "Enter pulls" in shown.text)
        await shown.press("escape")
        assert "Enter pulls" not in shown.text
        await shown.press("escape")
        assert shown.results == [None]
    assert not desk.cache.exists()


@pytest.mark.parametrize("key", ["escape", "c"])
async def test_a_pull_shows_how_it_comes_along_is_stopped_and_goes_on_from_there(desk: Desk, key: str) -> None:
    desk.hub.faults.append(Fault("slow", rate=2_000_000, downloads_only=True))
    async with pairs() as shown:
        await pull(shown)
        await shown.until(lambda: "MB/s" in shown.text and "left: downloading big-q8.gguf" in shown.text)
        assert "█" in shown.text
        await shown.press(key)
        await browsing(shown)
        assert "are here and are kept. Pulling it again goes on from there." in " ".join(shown.text.split())
        assert row(shown, "tiny")[3] == "partly"
        (kept,) = desk.check_cache().values()
        assert 0 < kept < desk.target.stat().st_size
        desk.hub.faults.clear()
        sent = desk.hub.bytes_sent()
        await pull(shown)
        await browsing(shown)
        assert "from before" in shown.text
        assert row(shown, "tiny")[3] == "yes"
    both = desk.target.stat().st_size + desk.draft.stat().st_size
    assert desk.hub.bytes_sent() - sent < both
    assert desk.check_cache() == {}


async def test_quitting_during_a_pull_loses_nothing_and_leaves_nothing_running(desk: Desk) -> None:
    desk.hub.faults.append(Fault("slow", rate=2_000_000, downloads_only=True))
    async with pairs() as shown:
        await pull(shown)
        await shown.until(lambda: "MB/s" in shown.text)
    deadline = time.monotonic() + 10
    while errands():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert next(iter(desk.check_cache().values())) > 0


async def test_nobody_waits_for_a_hub_that_says_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 60)
    desk.hub.faults.append(Fault("stall", where="hub"))
    async with pairs() as shown:
        await shown.press("enter")
        await shown.until(lambda: "looking for tiny" in shown.text)
        await shown.press("escape")
        await browsing(shown)
        assert "Stopped." in shown.text
        await shown.press("escape")
        assert shown.results == [None]


async def test_a_pull_that_the_storage_keeps_waiting_can_be_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 60)
    desk.hub.faults.append(Fault("stall", after=1_500_000, downloads_only=True))
    async with pairs() as shown:
        await pull(shown)
        await shown.until(lambda: "downloading big-q8.gguf" in shown.text)
        await shown.press("escape")
        assert "Stopping ..." in shown.text
        await shown.press("escape")
        assert shown.results == [None]


def gated(desk: Desk) -> None:
    desk.hub.repos["somebody/target-GGUF"].gated = True


def drops(desk: Desk) -> None:
    desk.hub.faults.append(Fault("drop", where="hub"))


def mismatched(desk: Desk) -> None:
    draft = desk.folder / desk.draft.name
    draft.write_bytes(TinyModel(tokens=[*tokens()[:-1], "<other>"]).bytes())
    desk.draft = draft
    desk.hub.add("somebody/draft-GGUF", draft)
    desk.write_catalog()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (gated, "somebody/target-GGUF is gated"),
        (drops, "broke off, again and again"),
        (mismatched, "<other>"),
    ],
)
async def test_a_refusal_is_told_in_words_and_the_screen_stays(
    desk: Desk, trouble: Callable[[Desk], None], words: str
) -> None:
    trouble(desk)
    async with pairs() as shown:
        await shown.press("enter")
        await browsing(shown)
        assert words in _running(shown.text)
        assert desk.cached("target") is None
        await shown.press("down")
        await shown.until(lambda: words not in _running(shown.text))


async def test_a_hub_that_is_not_there_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        desk.hub.endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    sit_at(desk, monkeypatch)
    async with pairs() as shown:
        await shown.press("enter")
        await browsing(shown)
        assert "cannot be reached" in shown.text


async def test_a_pair_that_would_not_fit_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.tui.offers.machine_memory", lambda: Memory("memory", 8_000_000, 6_000_000))
    async with pairs() as shown:
        await shown.press("enter")
        await browsing(shown)
        assert "tiny does not fit this machine" in shown.text
    assert desk.cached("target") is None


async def test_a_full_disk_is_told_before_the_first_byte(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(desk.folder)._replace(free=1_000_000)
    monkeypatch.setattr("localspec.pairs.pull.shutil.disk_usage", lambda _: usage)
    async with pairs() as shown:
        await shown.press("enter")
        await browsing(shown)
        assert "There is not enough room on the disk" in shown.text
    assert not desk.cache.exists()


async def test_bytes_that_are_not_the_promised_ones_are_told(desk: Desk) -> None:
    desk.hub.faults.append(Fault("wrong", downloads_only=True))
    async with pairs() as shown:
        await pull(shown)
        await browsing(shown)
        assert "arrived with other contents than the hub promises" in " ".join(shown.text.split())


async def test_a_data_folder_that_cannot_be_written_is_told_before_the_first_byte(desk: Desk) -> None:
    async with pairs() as shown:
        await shown.press("enter")
        await shown.until(lambda: "Enter pulls" in shown.text)
        locations.data_folder().write_text("a file where the folder should be")
        await shown.press("enter")
        await browsing(shown)
        assert "What localspec fetches cannot be noted" in _running(shown.text)
    assert not desk.cache.exists()


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "pairs.toml"), "Permission denied: 'pairs.toml'"),
        (ZeroDivisionError("of ours"), "A mistake in localspec: ZeroDivisionError: of ours"),
    ],
)
async def test_whatever_ends_a_pull_is_told_and_the_screen_stays(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("localspec.tui.screens.pairs.carry_out", fail)
    async with pairs() as shown:
        await pull(shown)
        await browsing(shown)
        assert words in _running(shown.text)


async def test_a_pair_that_is_being_pulled_elsewhere_is_not_deleted(desk: Desk) -> None:
    desk.hub.faults.append(Fault("slow", rate=1_000_000, downloads_only=True))
    pulling = desk.start()
    wait_for_bytes(desk, 300_000, pulling.process)
    async with pairs() as shown:
        await shown.press("d", "y")
        await browsing(shown)
        assert "big-q8.gguf is being downloaded" in _running(shown.text)
    assert pulling.outcome().returncode == 0
    assert_pulled(desk)


async def test_a_pair_is_deleted_only_after_a_yes(desk: Desk) -> None:
    assert desk.pull().returncode == 0
    async with pairs() as shown:
        await shown.press("d")
        assert "Delete tiny (3 MB) from this machine? It can be pulled again." in shown.text
        await shown.press("escape")
        assert desk.cached("target") is not None
        await shown.press("d", "y")
        await browsing(shown)
        assert "tiny: 3 MB freed" in shown.text
        assert row(shown, "tiny")[3] == "no"
    assert desk.cached("target") is None


async def test_a_pair_whose_files_are_loaded_is_not_deleted(desk: Desk) -> None:
    assert desk.pull().returncode == 0
    by_name = choice_of_pair(NOTHING, load_catalog().pair("tiny"))
    by_path = choice_of_files(Sources({"target": by_name.loading.target.path.resolve()}, {}, {}))
    for current in (by_name, by_path):
        async with pairs(current=current, sources=current.layers.sources) as shown:
            await shown.press("d", "y")
            await browsing(shown)
            assert "tiny is in use" in shown.text
    assert desk.cached("target") is not None


async def test_what_runs_is_marked_and_choosing_it_again_changes_nothing(desk: Desk) -> None:
    assert desk.pull().returncode == 0
    current = choice_of_pair(NOTHING, load_catalog().pair("tiny"))
    async with pairs(current=current, go_to="") as shown:
        assert "● tiny" in shown.text
        assert shown.text.count("●") == 1
        await shown.press("enter")
        assert shown.results == [None]


async def test_files_that_were_named_are_among_the_pairs(desk: Desk) -> None:
    sources = Sources({"target": desk.target, "draft": desk.draft}, {}, {})
    async with pairs(sources=sources, go_to="/files") as shown:
        assert row(shown, "big-q8.gguf")[3:5] == ["yes", "?"]
        assert "big-q8.gguf: the files that you named" in shown.text
        await shown.press("enter")
        await shown.until(lambda: shown.results)
    assert shown.results[0] is not None
    assert shown.results[0].loading.target.path == desk.target


@pytest.mark.usefixtures("desk")
async def test_the_demo_is_among_the_pairs_and_without_its_model_says_how_to_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo, "find_demo_target", lambda: None)
    async with pairs(go_to="demo") as shown:
        assert row(shown, "demo")[2] == "no"
        await shown.press("enter")
        await browsing(shown)
        assert "The demo model is not installed" in shown.text
        assert shown.results == []


async def test_on_a_first_run_the_proposed_pair_is_highlighted_and_escape_leaves_it_to_the_demo(desk: Desk) -> None:
    first = FirstChoice(None, load_catalog().pair("qwen3-4b"))
    async with pairs(proposal=first, go_to="") as shown:
        told = " ".join(shown.text.split())
        assert "No pair of models is on this machine yet." in told
        assert "localspec proposes qwen3-4b" in told
        assert "qwen3-4b: Qwen3 4B" in told
        await shown.press("escape")
        assert shown.results == [None]
    assert desk.hub.seen == []


async def test_files_that_were_never_checked_are_hashed_and_a_damaged_one_is_told(desk: Desk) -> None:
    assert desk.pull().returncode == 0
    locations.verified_files_file().unlink()
    blob = desk.cached("target").resolve()
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    async with pairs() as shown:
        await shown.press("enter")
        await browsing(shown)
        assert "The pair tiny is damaged" in shown.text
        assert shown.results == []


@pytest.mark.usefixtures("desk")
async def test_a_mistake_in_the_catalog_is_told() -> None:
    locations.catalog_file().write_text("[pairs.x]\ntarget = 5")
    async with showing(PairsScreen(NOTHING)) as shown:
        await shown.until(lambda: "The catalog of pairs has a mistake" in shown.text)
        await shown.press("escape")
        assert shown.results == [None]


@pytest.mark.usefixtures("desk")
async def test_a_pair_that_does_not_fit_says_why() -> None:
    catalog = locations.catalog_file()
    catalog.write_text(f"{catalog.read_text()}\nmemory = 999")
    async with pairs() as shown:
        assert row(shown, "tiny")[3:5] == ["no", "no"]
        assert "meant for 999 GB of" in shown.text


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("size", [(80, 24), (200, 50), (60, 16)])
async def test_the_screen_is_whole_in_every_size(size: tuple[int, int]) -> None:
    async with pairs(size=size) as shown:
        rows = shown.text.splitlines()
        assert (len(rows), max(map(len, rows)) <= size[0]) == (size[1], True)
        assert "tiny: tiny" in shown.text
        await shown.press("end")
        assert any(line.startswith("  demo") for line in shown.text.splitlines())


def _running(text: str) -> str:
    """The words on the screen, whatever line they are broken into; a scrollbar stands among them when it has to."""
    return " ".join(text.replace("█", " ").split())
