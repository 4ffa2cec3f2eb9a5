from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from textual.app import App

from localspec.tui.clipboard import Tool, copied, copy, tool_for

TEXT = "Grüße\n漢字 \x1b[31m $(rm -rf x) `y`\n"


def everything(name: str) -> str:
    return f"/bin/{name}"


@pytest.mark.parametrize(
    ("platform", "environ", "name"),
    [
        ("darwin", {}, "pbcopy"),
        ("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "wl-copy"),
        ("linux", {"DISPLAY": ":0"}, "xclip"),
        ("linux", {"DISPLAY": "localhost:10", "SSH_CONNECTION": "x"}, "xclip"),
        ("linux", {"WSL_DISTRO_NAME": "Ubuntu", "WAYLAND_DISPLAY": "w"}, "clip.exe"),
        ("win32", {}, "clip.exe"),
    ],
)
def test_the_desktops_own_tool_is_found(platform: str, environ: dict[str, str], name: str) -> None:
    tool = tool_for(platform, environ, everything)

    assert tool is not None
    assert tool.command[0] == f"/bin/{name}"
    assert tool.encoding == ("utf-16" if name == "clip.exe" else "utf-8")


@pytest.mark.parametrize(
    ("platform", "environ"),
    [("linux", {}), ("darwin", {"SSH_TTY": "x"}), ("linux", {"WAYLAND_DISPLAY": "w", "SSH_CONNECTION": "x"})],
)
def test_the_clipboard_of_a_machine_far_away_is_left_alone(platform: str, environ: dict[str, str]) -> None:
    assert tool_for(platform, environ, everything) is None


def test_the_next_tool_is_taken_when_one_is_missing() -> None:
    tool = tool_for("linux", {"DISPLAY": ":0"}, lambda name: "/bin/xsel" if name == "xsel" else None)

    assert tool == Tool(("/bin/xsel", "--clipboard", "--input"))


def script(path: Path, body: str) -> Tool:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Tool((str(path),))


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
def test_the_text_reaches_the_tool_as_it_is_and_no_shell(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool", f"cat > '{tmp_path}/out'")

    assert tool.copy(TEXT)
    assert (tmp_path / "out").read_text(encoding="utf-8") == TEXT


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
def test_a_tool_that_goes_on_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    assert script(tmp_path / "tool", "cat > /dev/null; sleep 60 &").copy(TEXT)


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
def test_a_tool_that_fails_or_is_gone_or_does_not_end_is_said_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.tui.clipboard._PATIENCE", 0.2)

    assert not script(tmp_path / "fails", "exit 1").copy(TEXT)
    assert not script(tmp_path / "hangs", "exec sleep 60").copy("x" * 1_000_000)
    assert not Tool((str(tmp_path / "gone"),)).copy(TEXT)


def test_the_person_hears_where_the_text_is_and_what_may_keep_it_from_arriving() -> None:
    tool = Tool(("/bin/xclip",))

    assert "on the clipboard (2 lines)" in copied("the answer", "a\nb", tool, worked=True, environ={})
    assert "handed to the terminal" in copied("the answer", "a", tool, worked=False, environ={})
    assert "set-clipboard" in copied("the answer", "a", None, worked=False, environ={"TMUX": "x"})
    assert "screen" in copied("the answer", "a", None, worked=False, environ={"TERM": "screen.xterm"})
    assert "macOS" in copied("the answer", "a", None, worked=False, environ={"SSH_CONNECTION": "x"})
    assert "export" in copied("the answer", "a" * 80_000, None, worked=False, environ={"TMUX": "x"})
    assert copied("the answer", "a", None, worked=False, environ={}).startswith("The answer was")


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
async def test_copying_tells_terminal_and_tool_and_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "xclip", f"cat > '{tmp_path}/out'")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    app: App[None] = App()

    async with app.run_test() as pilot:
        copy(app, TEXT + "\ud800", "the [b]answer[/b]")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert app.clipboard == TEXT + "?"
        assert (tmp_path / "out").read_text(encoding="utf-8") == TEXT + "?"
        [told] = app._notifications
        assert "[b]answer[/b] is on the clipboard" in told.message

        copy(app, "", "the answer")
        await pilot.pause()

        assert len(app._notifications) == 2
