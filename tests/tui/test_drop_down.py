import pytest
from textual.app import App, ComposeResult
from textual.widgets.option_list import Option

from localspec.tui.widgets.drop_down import DropDown, PagedList, _Overlay


class Host(App[None]):
    """A list without any room, and a drop-down."""

    CSS = "#none { width: 0; height: 0; }"

    def compose(self) -> ComposeResult:
        yield PagedList(*(Option(f"option {number}") for number in range(50)), id="none")
        yield DropDown([(f"choice {number}", number) for number in range(50)], allow_blank=False)


@pytest.mark.parametrize("key", ["pageup", "pagedown"])
async def test_a_page_key_before_there_is_any_line_does_nothing(key: str):
    async with Host().run_test() as pilot:
        paged = pilot.app.query_one("#none", PagedList)
        paged.highlighted = 0
        getattr(paged, f"action_{key.replace('page', 'page_')}")()
        closed = pilot.app.query_one(_Overlay)
        getattr(closed, f"action_{key.replace('page', 'page_')}")()
        await pilot.pause()
        assert pilot.app.is_running


async def test_an_open_list_is_paged_through_and_chosen_from():
    async with Host().run_test() as pilot:
        drop_down = pilot.app.query_one(DropDown)
        drop_down.focus()
        await pilot.press("enter", "pagedown", "enter")
        await pilot.pause()
        assert drop_down.value > 3
