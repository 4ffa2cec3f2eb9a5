"""`localspec pull`: checks a pair, shows it with its licence, and fetches it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from localspec.cli.pairs.layout import print_json, print_words, sentence
from localspec.cli.pairs.wanted import add_cache_options, asked_context, wanted
from localspec.errors import UsageError

if TYPE_CHECKING:
    from localspec.pairs.catalog import Catalog
    from localspec.pairs.pair import Pair

_DESCRIPTION = """\
Fetch a pair into the hub's own cache, where other tools find it, too. First
the headers of both files are read (a few megabytes): that the draft fits the
target, and both fit this machine's memory and disk. Then you see what it is,
on which terms and how much is to come, and are asked; not with --yes or
--json, nor where no person is at a terminal: to name a pair is to agree.
Without PAIR it is the one that the catalog proposes for this machine's memory.
Ctrl-C stops. What came is kept then, as after any failure, and the same
command goes on from there."""

_EPILOG = """\
SOURCE is OWNER/REPO[:FILE][@REVISION] on the hub. OWNER/REPO alone takes the
file of that repo, or of several the usual type (Q4_K_M before Q4_0). The pair
is remembered under a name: --name, or one made of the target's file.

HF_ENDPOINT, HF_HOME, HF_TOKEN, HF_HUB_OFFLINE and the proxy variables mean
what they mean to the hub's own client.

examples:
  localspec pull qwen3-4b
  localspec pull --target Qwen/Qwen2.5-7B-Instruct-GGUF:FILE.gguf@main \\
                 --draft Qwen/Qwen2.5-0.5B-Instruct-GGUF --name mine

--json prints one object, "schema": 1: plan (pair, bytes_to_fetch, bytes_free,
bytes_checked, target, draft, memory) and pulled (pair, target_path,
draft_path, fetched_bytes, resumed_bytes, seconds)."""

_DEFAULT_CONTEXT = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `localspec pull`."""
    parser.usage = "localspec pull [PAIR] [options]\n       localspec pull --target SOURCE --draft SOURCE [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("pair", metavar="PAIR", nargs="?", help="a name that `localspec list` shows")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help='do not ask, and print one JSON object, "schema": 1')
    own = parser.add_argument_group("a pair of your own")
    own.add_argument("--target", metavar="SOURCE", help="the model that answers")
    own.add_argument("--draft", metavar="SOURCE", help="the small model that guesses")
    own.add_argument("--name", metavar="NAME", help="what to call the pair (default: made of the target's file)")
    add_cache_options(parser, "the pair's own")


def run(arguments: argparse.Namespace) -> int:
    """Check, ask, fetch.

    Returns:
        0; 1 when the person said no.

    Raises:
        UsageError: the call names no pair, or two.
        LocalspecError: the pair was refused or could not be fetched.
    """
    _refuse_contradictions(arguments)
    asked_context(arguments)
    from localspec.cli.asking import ask_yes, person_is_there  # noqa: PLC0415 - wrong calls are answered without it
    from localspec.cli.pairs.pulling import check, fetch, plan_words  # noqa: PLC0415 - as above
    from localspec.pairs.as_json import plan_values, pulled_values  # noqa: PLC0415 - as above
    from localspec.pairs.catalog import load_catalog  # noqa: PLC0415 - as above
    from localspec.pairs.words import pulled_words  # noqa: PLC0415 - as above
    from localspec.terminal import Terminal  # noqa: PLC0415 - as above

    asks = person_is_there() and not (arguments.yes or arguments.json)
    terminal = Terminal(sys.stdout, sys.stderr)
    pair = _pair(arguments, load_catalog(), asks=asks)
    plan = check(pair, wanted(arguments, pair.context), terminal)
    if not arguments.json:
        print_words(plan_words(plan))
    if asks and plan.missing and not ask_yes("Pull it?", default=arguments.pair is not None):
        print_words(["Nothing was downloaded."])
        return 1
    pulled = fetch(plan, terminal)
    if arguments.json:
        print_json({"plan": plan_values(plan), "pulled": pulled_values(pulled)})
    else:
        print_words([*sentence(pulled_words(pulled)), f"Talk to it: localspec chat --pair {pulled.pair.name}"])
    return 0


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    own = arguments.target, arguments.draft
    if arguments.pair and any(own):
        raise UsageError("PAIR and --target exclude each other", "A pair names both of its files.")
    if any(own) and not all(own):
        missing = "--draft" if arguments.target else "--target"
        raise UsageError(f"{missing} is missing", "A pair is a target and a draft that guesses for it.")
    if arguments.name and not any(own):
        raise UsageError("--name is for a pair of your own", "", "Give --target and --draft with it.")


def _pair(arguments: argparse.Namespace, catalog: Catalog, *, asks: bool) -> Pair:
    """The pair that is meant.

    Raises:
        UsageError: no pair is named, and nobody is there to agree to a proposal.
        DownloadError: the hub refuses to list a repo.
    """
    from localspec.cli.pairs.named import named_pair  # noqa: PLC0415 - wrong calls are answered without it
    from localspec.pairs.ad_hoc import make_pair, parse_source  # noqa: PLC0415 - as above
    from localspec.pairs.machine_memory import machine_memory  # noqa: PLC0415 - as above

    if arguments.target:
        sources = parse_source(arguments.target), parse_source(arguments.draft)
        context = asked_context(arguments) or _DEFAULT_CONTEXT
        return make_pair(*sources, catalog, arguments.name, context)
    if arguments.pair:
        return named_pair(catalog, arguments.pair)
    proposal = catalog.default_pair(machine_memory().total)
    if not (asks or arguments.yes):
        raise UsageError(
            "No pair is named",
            f"For this machine's memory the catalog proposes {proposal.name}.",
            f"localspec pull {proposal.name}",
        )
    return proposal
