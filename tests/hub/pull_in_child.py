"""Pulls the pair `tiny` of the person's own catalog, as the command does, with little patience; tells how it went.

Run as a process of its own: huggingface_hub reads its environment when it is imported. Prints a JSON object per line:
progress notes as they come, and at the end the outcome. Whatever is not told in words ends as a traceback.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from localspec.errors import LocalspecError
from localspec.pairs.catalog import load_catalog
from localspec.pairs.memory_fit import Memory
from localspec.pairs.patience import Patience
from localspec.pairs.progress import Meter
from localspec.pairs.pull import carry_out, prepare

IMPATIENT = Patience(attempts=3, first_pause=0.05, longest_pause=0.2, longest_wait=5)


def tell(what):
    print(json.dumps(what, default=str), flush=True)


def main():
    told = set()

    def report(progress):
        line = (progress.what, progress.note)
        if line not in told:
            told.add(line)
            tell({"progress": asdict(progress)})

    meter = Meter(report)
    try:
        plan = prepare(load_catalog().pair("tiny"), Memory.of_machine(), meter)
        tell({"plan": {"missing": plan.missing, "checked_bytes": plan.checked_bytes}})
        pulled = carry_out(plan, meter, IMPATIENT)
    except LocalspecError as error:
        name = type(error).__name__
        tell({"error": {"kind": name, "title": error.title, "message": error.message, "hint": error.hint}})
        return error.exit_code
    tell({"pulled": asdict(pulled)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
