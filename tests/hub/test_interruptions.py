"""Stops, deaths, two at once, damage on the disk: nothing that came is lost, nothing wrong is accepted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localspec.errors import LocalspecError
from localspec.pairs.catalog import load_catalog
from localspec.pairs.remove import remove_pair
from tests.hub.in_process import sit_at
from tests.hub.server import Fault
from tests.hub.test_pull import assert_pulled

SLOW = {"rate": 1_000_000, "downloads_only": True}


def partial_of(desk):
    found = list(desk.cache.glob("models--*/blobs/*.incomplete"))
    return found[0] if found else None


def wait_for_bytes(desk, count, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        partial = partial_of(desk)
        if partial is not None and partial.stat().st_size >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("nothing came")


def downloaded(desk):
    return sum(seen.sent for seen in desk.hub.seen if (seen.range or "").endswith("-"))


def test_ctrl_c_keeps_what_came_and_the_next_pull_goes_on(desk):
    desk.hub.faults = [Fault("slow", **SLOW)]
    pulling = desk.start()
    wait_for_bytes(desk, 500_000, pulling.process)
    pulling.stop(signal.SIGINT)
    outcome = pulling.outcome()
    assert outcome.returncode == 130
    error = outcome.told("error")
    assert (error["kind"], error["title"]) == ("DownloadStoppedError", "Stopped")
    assert "are kept" in error["message"]
    assert error["hint"] == "The same command goes on from there."
    kept = sum(desk.check_cache().values())
    assert kept >= 500_000
    desk.hub.faults = []
    desk.hub.seen.clear()
    again = desk.pull()
    assert again.returncode == 0, again
    assert again.told("pulled")["resumed"] == kept
    assert again.told("pulled")["fetched"] == desk.target.stat().st_size + desk.draft.stat().st_size - kept
    assert downloaded(desk) == again.told("pulled")["fetched"]
    assert "checking what an earlier pull fetched" in again.notes
    assert_pulled(desk)


def test_ctrl_c_while_the_hub_is_silent_ends_at_once(desk):
    desk.hub.faults = [Fault("stall", where="hub")]
    pulling = desk.start(HF_HUB_ETAG_TIMEOUT="100", HF_HUB_DOWNLOAD_TIMEOUT="100")
    deadline = time.monotonic() + 60
    while not any(fault.times < 1_000_000 for fault in desk.hub.faults) and time.monotonic() < deadline:
        time.sleep(0.02)
    pulling.stop(signal.SIGINT)
    pulling.process.wait(timeout=50)  # the answer would take 100 s
    pulling.process.communicate()
    assert not desk.cache.exists()


def test_a_killed_pull_is_gone_on_with(desk):
    desk.hub.faults = [Fault("slow", **SLOW)]
    pulling = desk.start()
    wait_for_bytes(desk, 500_000, pulling.process)
    pulling.stop(signal.SIGKILL)
    pulling.process.communicate()
    kept = sum(desk.check_cache().values())
    assert kept >= 500_000
    desk.hub.faults = []
    again = desk.pull()
    assert again.told("pulled")["resumed"] == kept
    assert_pulled(desk)


def test_two_pulls_at_once_fetch_each_file_once(desk):
    desk.hub.faults = [Fault("slow", **SLOW)]
    both = [desk.start(), desk.start()]
    outcomes = [pulling.outcome() for pulling in both]
    assert [outcome.returncode for outcome in outcomes] == [0, 0], outcomes
    assert_pulled(desk)
    whole = desk.target.stat().st_size + desk.draft.stat().st_size
    assert sum(outcome.told("pulled")["fetched"] for outcome in outcomes) == whole
    assert downloaded(desk) == whole
    assert any("another download of this file is running" in outcome.notes for outcome in outcomes)


def test_a_deletion_beside_a_running_pull_is_refused_and_the_pull_comes_to_its_end(desk, monkeypatch):
    sit_at(desk, monkeypatch)
    desk.hub.faults = [Fault("slow", **SLOW)]
    pulling = desk.start()
    wait_for_bytes(desk, 300_000, pulling.process)
    with pytest.raises(LocalspecError, match=f"{desk.target.name} is being downloaded"):
        remove_pair(load_catalog().pair("tiny"), load_catalog())
    outcome = pulling.outcome()
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)
    assert remove_pair(load_catalog().pair("tiny"), load_catalog()).freed == sum(
        path.stat().st_size for path in (desk.target, desk.draft)
    )


def test_the_one_who_waits_goes_on_when_the_other_is_killed(desk):
    desk.hub.faults = [Fault("slow", **SLOW)]
    first = desk.start()
    wait_for_bytes(desk, 300_000, first.process)
    second = desk.start()
    time.sleep(1.0)
    first.stop(signal.SIGKILL)
    first.process.communicate()
    outcome = second.outcome()
    assert outcome.returncode == 0, outcome
    assert outcome.told("pulled")["resumed"] >= 300_000
    assert_pulled(desk)


def test_a_pull_and_the_hubs_own_client_do_not_disturb_each_other(desk):
    desk.hub.faults = [Fault("slow", **SLOW)]
    command = [str(Path(sys.executable).with_name("hf")), "download", "somebody/target-GGUF", desk.target.name]
    client = subprocess.Popen(command, env=desk.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    outcome = desk.pull()
    _, said = client.communicate(timeout=240)
    assert client.returncode == 0, said
    assert outcome.returncode == 0, outcome
    (desk.cache / "CACHEDIR.TAG").unlink(missing_ok=True)
    assert_pulled(desk)


def test_the_hubs_own_client_finds_what_a_pull_fetched(desk):
    desk.pull()
    program = (
        "from huggingface_hub import hf_hub_download;"
        f"print(hf_hub_download('somebody/target-GGUF', {desk.target.name!r},"
        f"revision={desk.hub.commit('somebody/target-GGUF')!r}, local_files_only=True))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], env=desk.environment, capture_output=True, text=True, check=True
    )
    assert Path(run.stdout.strip()) == desk.cached("target")


@pytest.mark.parametrize("damage", ["changed", "longer", "whole and changed", "empty"])
def test_a_damaged_beginning_is_noticed_and_fetched_again(desk, damage):
    content = bytearray(desk.target.read_bytes())
    content[1000] ^= 1
    size = {"changed": 1_000_000, "whole and changed": len(content), "longer": len(content), "empty": 0}[damage]
    digest = desk.hub.file("somebody/target-GGUF", desk.target.name).etag
    partial = desk.cache / "models--somebody--target-GGUF" / "blobs" / f"{digest}.incomplete"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(bytes(content[:size]) + (b"more" if damage == "longer" else b""))
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert_pulled(desk)
    assert ("was damaged" in outcome.notes) is (damage in {"changed", "whole and changed"})


def test_a_whole_beginning_is_accepted_without_another_byte(desk):
    digest = desk.hub.file("somebody/target-GGUF", desk.target.name).etag
    partial = desk.cache / "models--somebody--target-GGUF" / "blobs" / f"{digest}.incomplete"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(desk.target.read_bytes())
    outcome = desk.pull()
    assert outcome.told("pulled")["fetched"] == desk.draft.stat().st_size
    assert_pulled(desk)


def test_a_file_of_the_cache_that_was_damaged_is_fetched_again(desk):
    assert desk.pull().returncode == 0
    blob = desk.cached("target").resolve()
    content = bytearray(blob.read_bytes())
    content[2_000_000] ^= 1
    blob.write_bytes(content)
    outcome = desk.pull()
    assert outcome.returncode == 0, outcome
    assert outcome.told("pulled")["fetched"] == desk.target.stat().st_size
    assert_pulled(desk)


def test_a_good_file_is_kept_when_the_other_one_fails(desk):
    assert desk.pull().returncode == 0
    desk.cached("draft").resolve().unlink()
    desk.hub.faults = [Fault("status", status=500)]
    assert desk.pull().returncode == 1
    assert desk.cached("target").read_bytes() == desk.target.read_bytes()
