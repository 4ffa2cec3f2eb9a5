"""The command line itself: help, version, exit codes, and that nothing ends in a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

import localspec
from localspec import cli, locations
from localspec.cli import main
from localspec.settings import KEYS

FULL = Path("/dev/full")


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"localspec {localspec.__version__}\n"


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    told = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert command.name in told


def test_the_help_of_chat_names_every_setting_and_the_lossy_rule(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["chat", "--help"])
    told = capsys.readouterr().out
    for key in KEYS:
        assert key.flag in told
    assert "NOT the target's distribution" in " ".join(told.split())
    assert str(locations.settings_file()) in told


@pytest.mark.parametrize("arguments", [["--help"], ["chat", "--help"], ["doctor", "--help"], ["chat", "--top-k", "x"]])
def test_help_and_wrong_calls_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom localspec.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'llama_cpp', 'textual', 'huggingface_hub', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, input="")
    assert run.stderr.endswith("[]\n"), run.stderr


def test_a_mistake_of_ours_is_told_in_words_and_kept_in_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(_: object) -> int:
        raise ZeroDivisionError("of ours")

    monkeypatch.setenv("LOCALSPEC_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("localspec.cli.doctor.run", fail)
    assert main(["doctor"]) == 1
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert "ZeroDivisionError: of ours" in told
    assert "Traceback" in (tmp_path / "log" / "last-failure.txt").read_text()


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 1)])
def test_interrupts_and_the_system_have_codes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("localspec.cli.doctor.run", fail)
    assert main(["doctor"]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_stdout_is_no_failure() -> None:
    command = f'"{sys.executable}" -m localspec --help >&- 2>&-'
    assert subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["--help"], ["--version"], ["chat", "--help"], []])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_cannot_be_written_is_told_in_our_words_alone(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = [sys.executable, "-m", "localspec", *arguments]
    with FULL.open("w") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (run.returncode, run.stderr) == (1, "localspec: The system refused\n  No space left on device.\n")
        assert subprocess.run(command, stdout=full, stderr=full, check=False).returncode == 1


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
def test_words_that_cannot_be_written_change_no_exit_code() -> None:
    with FULL.open("w") as full:
        run = subprocess.run([sys.executable, "-m", "localspec", "list", "--nothing"], stderr=full, check=False)
    assert run.returncode == 2


@pytest.mark.parametrize("arguments", [["list"], ["--help"]])
def test_a_reader_that_has_seen_enough_is_no_failure(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "localspec", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 0


@pytest.mark.parametrize("arguments", [["-p", "-v"], ["--presence-penalty", "-1e3"]])
def test_a_value_that_looks_like_an_option_is_explained(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["chat", *arguments]) == 2
    assert "--option=-value" in capsys.readouterr().err
