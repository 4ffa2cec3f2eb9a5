"""The row of keys at the bottom is made anew only when it says something else."""

from __future__ import annotations

import pytest

from localspec.tui.widgets.key_row import KeyRow
from tests.tui.conftest import Start


async def test_going_through_the_settings_makes_no_row_anew(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    async with start() as chatting:
        await chatting.ready()
        await chatting.press("f3")
        await chatting.until(lambda: "Settings of" in chatting.screen and "recommended" in chatting.screen)
        made, recompose = [], KeyRow.recompose

        async def counting(row: KeyRow) -> None:
            made.append(row)
            await recompose(row)

        monkeypatch.setattr(KeyRow, "recompose", counting)
        await chatting.press(*["down"] * 5)
        assert made == []

        await chatting.press("escape")
        await chatting.until(lambda: "speculation" in chatting.screen.splitlines()[-1])
