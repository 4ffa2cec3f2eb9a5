"""A model file's own Jinja template, compiled and run as transformers does, in a sandbox and within bounds.

The template comes with the model file, so it is other people's code: it cannot reach Python's internals (Jinja's
immutable sandbox), cannot run for ever, and cannot write without end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import FrameType
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST_RENDERING = 64_000_000
"""Characters after which a template is taken to write without end."""

SECONDS_ALLOWED = 10.0
"""A template renders a long conversation in milliseconds; after this many seconds it is taken to loop for ever."""


class TemplateRefusedError(Exception):
    """The template called `raise_exception`, failed while it ran, or ran out of bounds; the argument says how."""


class _GenerationTag(Extension):
    """Accepts `{% generation %}`, which marks the assistant's text for training and changes nothing here."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own attribute

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        parser.stream.skip(1)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compile_template(source: str) -> jinja2.Template:
    """Compile a chat template in the environment that transformers gives it.

    Raises:
        jinja2.TemplateSyntaxError: it is not Jinja.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment.from_string(source)


def render_within_bounds(
    template: jinja2.Template, variables: Mapping[str, object], *, seconds: float = SECONDS_ALLOWED
) -> str:
    """Render `template`.

    Raises:
        TemplateRefusedError: the template refused, failed, or ran out of bounds.
    """
    pieces: list[str] = []
    length = 0
    try:
        with _deadline(seconds):
            for piece in template.generate(variables):
                pieces.append(piece)
                length += len(piece)
                if length > LONGEST_RENDERING:
                    raise TemplateRefusedError(f"it wrote more than {LONGEST_RENDERING:,} characters")
    except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise TemplateRefusedError(str(error) or type(error).__name__) from error
    except (RecursionError, MemoryError) as error:
        raise TemplateRefusedError(f"it ran out of bounds ({type(error).__name__})") from error
    return "".join(pieces)


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Stop the template's own Python code after `seconds`: only a trace function gets into a loop without output."""
    end = time.monotonic() + seconds
    before = sys.gettrace()

    def trace(_frame: FrameType, _event: str, _argument: Any) -> Any:
        if time.monotonic() > end:
            raise TemplateRefusedError(f"it did not end within {seconds:g} seconds")
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _refuse(message: str) -> NoReturn:
    raise TemplateRefusedError(message)


def _now(form: str) -> str:
    """The date in the person's own time zone, as transformers gives it."""
    return datetime.now().strftime(form)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As JSON without HTML escapes, unlike Jinja's own filter."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
