"""Two waits for the network at the same time."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def side_by_side(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """`function` of each item, all at once; the results in the order of the items.

    Ctrl-C does not wait for an answer that does not come: the threads are left behind, and end with the process. (The
    pools of concurrent.futures are waited for at exit.)

    Raises:
        Exception: what the first of them to fail raised.
    """
    outcomes: queue.SimpleQueue[tuple[int, _Result | None, BaseException | None]] = queue.SimpleQueue()

    def run(number: int, item: _Item) -> None:
        try:
            outcomes.put((number, function(item), None))
        except BaseException as error:  # noqa: BLE001 (handed to the caller's thread, which raises it)
            outcomes.put((number, None, error))

    started = [threading.Thread(target=run, args=entry, daemon=True) for entry in enumerate(items)]
    for thread in started:
        thread.start()
    results: dict[int, _Result] = {}
    for _ in started:
        number, result, error = outcomes.get()
        if error is not None:
            raise error
        results[number] = result  # type: ignore[assignment] # None only where `function` returned it
    return [results[number] for number in range(len(started))]
