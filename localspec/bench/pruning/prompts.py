"""What the target is asked, so that it writes the texts that drafts of its own layers are judged by.

Its own answers, not texts of ours: a draft guesses what the target writes next, and on a text that somebody else wrote
both hesitate elsewhere. Code, prose, JSON and rewriting, as people ask for them; none is a task of the benchmark, whose
figures would else be of the very texts that the layers were chosen for.
"""

from __future__ import annotations

PROMPTS = (
    "Write a Python function that returns the prime numbers below n.",
    "Explain in a few sentences why the sea is salty.",
    "Give a JSON array of three rivers, each with name, country and length_km. Only the JSON.",
    (
        "Correct the spelling and change nothing else: The wether was fine, so we went for a wlak along the rivver and "
        "saw too herons, a fox and many bees befor it began to rain."
    ),
)
"""The layers are chosen by the answers to these."""

CHECK_PROMPTS = (
    "Write a JavaScript function that counts the words in a text.",
    "How does a bicycle stay upright? Answer in a few sentences.",
    "Describe a coffee cup as a JSON object with material, volume_ml, colour and price. Only the JSON.",
    (
        "Rewrite this in the past tense: The train leaves at nine, the children wave from the window, and the old man "
        "reads his paper until the lights of the city appear."
    ),
)
"""The best choices are judged once more by these: the best of many is in part the luckiest of many."""
