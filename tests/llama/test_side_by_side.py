"""Several texts in one pass: it is timed, taken back and cancelled; the arithmetic is the model's own."""

from __future__ import annotations

import numpy as np
import pytest

from localspec.decoding.rounds import never
from localspec.llama.bindings import low
from localspec.llama.context import Context
from localspec.llama.context_options import MOST_BRANCHES, ContextOptions
from localspec.llama.model import Model
from localspec.llama.side_by_side import SideBySide

ONE_THREAD = ContextOptions(threads=1)


def test_passes_of_any_number_of_texts_are_timed(smollm2_model: Model) -> None:
    with SideBySide(smollm2_model, ONE_THREAD, 4, context=32, most_each=5) as texts:
        for sequences, each in [(1, 1), (4, 1), (2, 5), (4, 5), (1, 1)]:
            seconds = texts.pass_seconds(sequences, each, 2, never)
            assert seconds is not None
            assert len(seconds) == 2
            assert min(seconds) > 0


@pytest.mark.parametrize("sequences", [1, 2])
def test_texts_are_timed_beside_a_conversation_that_may_branch(smollm2_model: Model, sequences: int) -> None:
    options = ContextOptions(threads=1, branches=MOST_BRANCHES)
    with SideBySide(smollm2_model, options, sequences, context=8, most_each=1) as texts:
        assert texts.pass_seconds(sequences, 1, 1, never)


def test_a_text_that_may_branch_can_put_out_one_row_alone(smollm2_model: Model) -> None:
    with Context(smollm2_model, ContextOptions(length=64, threads=1, rows=1, branches=MOST_BRANCHES)) as context:
        assert context.evaluate([1, 2, 3], rows=1).shape == (1, smollm2_model.vocabulary_size)


def test_texts_stay_as_they_were_and_rows_are_those_of_a_text_alone(smollm2_model: Model) -> None:
    with SideBySide(smollm2_model, ONE_THREAD, 3, context=8, most_each=2) as texts:
        texts.pass_seconds(3, 2, 2, never)
        ends = [int(low.llama_memory_seq_pos_max(texts._memory, sequence)) for sequence in range(3)]
        assert ends == [7, 7, 7]
        with texts._batch(range(3), 8, 2) as batch:
            texts._decode(batch)
            added = [batch.token[row] for row in range(6)]
            rows = np.ctypeslib.as_array(
                low.llama_get_logits(texts._pointer), (6, smollm2_model.vocabulary_size)
            ).copy()
        with texts._batch(range(1), 0, 8) as batch:
            text = [batch.token[row] for row in range(8)]
    with Context(smollm2_model, ContextOptions(length=64, threads=1)) as alone:
        for sequence in range(3):
            alone.clear()
            alone.evaluate(text, rows=0)
            expected = alone.evaluate(added[2 * sequence : 2 * sequence + 2])
            # Another width of pass rounds differently; another text would differ by whole units.
            assert np.abs(rows[2 * sequence : 2 * sequence + 2] - expected).max() < 0.5


def test_a_cancel_ends_the_timing_between_passes(smollm2_model: Model) -> None:
    with SideBySide(smollm2_model, ONE_THREAD, 2, context=8, most_each=1) as texts:
        assert texts.pass_seconds(2, 1, 100_000, lambda: True) is None


@pytest.mark.parametrize(("sequences", "each"), [(3, 1), (2, 2), (0, 1), (1, 0)])
def test_more_than_there_is_room_for_never_reaches_llama_cpp(smollm2_model: Model, sequences: int, each: int) -> None:
    with (
        SideBySide(smollm2_model, ONE_THREAD, 2, context=8, most_each=1) as texts,
        pytest.raises(ValueError, match="room for 2 times 1"),
    ):
        texts.pass_seconds(sequences, each, 1, never)
