#!/usr/bin/env python3
"""Make the README's picture: the app, one real answer of a real pair in it, as it is on the screen.

    python scripts/picture.py [--target FILE --draft FILE] [--prompt TEXT] [--theme NAME] [--who] FILE.svg

Without a pair it takes the bench pair (scripts/fetch_models.py). The figures in the picture are those of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import tempfile
from pathlib import Path

from localspec.conversations.conversation import Conversation
from localspec.conversations.saver import Saver
from localspec.conversations.store import ConversationStore
from localspec.engine.client import EngineClient
from localspec.locations import models_folder
from localspec.settings import Sources
from localspec.tui.app import ChatApp
from localspec.tui.engine_link import EngineLink
from localspec.tui.engine_state import EngineState, Stage
from localspec.tui.prompt_history import PromptHistory
from localspec.tui.services import Opening, Services

PROMPT = (
    "Write an LRU cache in Python with O(1) get and put. Keep it short, then say in a table what each method costs."
)
_CDN_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


async def take(arguments: argparse.Namespace, folder: Path) -> str:
    """Ask, wait for the answer, and take the picture."""
    models = models_folder()
    flags = {
        "target": arguments.target or models / "qwen2.5-coder-1.5b-instruct-q8_0.gguf",
        "draft": arguments.draft or models / "qwen2.5-coder-0.5b-instruct-q4_0.gguf",
        "temperature": 0.0,
        "max_tokens": arguments.max_tokens,
    }
    store = ConversationStore(folder / "history.sqlite3")
    link, saver = EngineLink(EngineClient()), Saver(store)
    services = Services(link, EngineState(link), store, saver, PromptHistory(None), Sources(flags, {}, {}))
    app = ChatApp(services, Opening(Conversation()))
    try:
        async with app.run_test(size=(arguments.columns, arguments.rows)) as pilot:
            app.theme = arguments.theme
            while services.engine.stage is not Stage.READY:
                await pilot.pause(0.1)
            app.chat.begin_answer(app.chat.answering.talk.ask(arguments.prompt))
            while app.chat.answering.busy:
                await pilot.pause(0.1)
            if arguments.who:
                app.chat.action_toggle_origins()
            await pilot.pause()
            return app.export_screenshot(title="localspec chat", simplify=True)
    finally:
        link.close()
        saver.close(5)


def alone(svg: str) -> str:
    """The picture so that a README can hold it: nothing loaded from elsewhere, every blank where it was."""
    svg = _CDN_FONTS.sub("", svg).replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1)


def main() -> None:
    """Take the picture that the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--theme", default="localspec-dark")
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--who", action="store_true", help="show who wrote each token")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCALSPEC_DATA_DIR"] = folder
        svg = asyncio.run(take(arguments, Path(folder)))
    arguments.file.write_text(alone(svg), "utf-8")


if __name__ == "__main__":
    main()
