from __future__ import annotations

import itertools
import sys
from datetime import datetime

import pytest

from localspec.chat.events import Message, Role
from localspec.chat.sandbox import TemplateRefusedError, compile_template, render_within_bounds
from localspec.chat.template import ChatTemplate
from localspec.errors import LocalspecError, ModelFileError

SYSTEM = Message(Role.SYSTEM, "Be brief.")
HELLO = Message(Role.USER, "Hello <b>&</b>")
REPLY = Message(Role.ASSISTANT, "Hi.")
MORE = Message(Role.USER, "More?")

# The heart of Gemma 2's: no system role, strict turns, "model" for the assistant.
GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}
{{ raise_exception('System role not supported') }}{% endif %}
{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}
{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}
{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}
{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"""


def rendered(source: str, *messages: Message) -> str:
    return ChatTemplate(source, (), bos_text="<bos>", eos_text="<eos>").render(messages)


def test_a_template_that_refuses_a_system_prompt_gets_it_in_the_first_message() -> None:
    text = rendered(GEMMA, SYSTEM, HELLO, REPLY, MORE)
    assert text.startswith("<bos><start_of_turn>user\nBe brief.\n\nHello <b>&</b><end_of_turn>\n")
    assert text.endswith(
        "<start_of_turn>model\nHi.<end_of_turn>\n<start_of_turn>user\nMore?<end_of_turn>\n<start_of_turn>model\n"
    )


def test_a_template_that_ignores_a_system_prompt_gets_it_in_the_first_message() -> None:
    source = "{% for m in messages if m.role != 'system' %}[{{ m.content }}]{% endfor %}"
    assert rendered(source, SYSTEM, HELLO) == "[Be brief.\n\nHello <b>&</b>]"
    assert rendered(source, HELLO) == "[Hello <b>&</b>]"


def test_turns_a_template_refuses_are_told_in_its_words() -> None:
    with pytest.raises(LocalspecError, match="roles must alternate"):
        rendered(GEMMA, HELLO, MORE)
    with pytest.raises(LocalspecError, match="roles must alternate"):
        rendered(GEMMA, SYSTEM, HELLO, MORE)


def test_the_environment_is_the_one_transformers_gives() -> None:
    source = (
        "{%- for m in messages %}\n"
        "    {%- if loop.index == 3 %}{% break %}{% endif %}\n"
        "    {% generation %}{{ m.content | tojson }}{% endgeneration %}\n"
        "{% endfor %}\n"
        "{{ bos_token }}{{ eos_token }}{{ strftime_now('%Y') }}{{ tools is none }}\n"
    )
    year = datetime.now().year
    assert rendered(source, HELLO, REPLY, MORE) == f'"Hello <b>&</b>""Hi."<bos><eos>{year}True'
    assert rendered("{{ {'a': ['é', '<']} | tojson(indent=1) }}", HELLO) == '{\n "a": [\n  "é",\n  "<"\n ]\n}'


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__ }}{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ ('{0.__class__.__mro__}').format(messages) }}{{ raise_exception.__globals__.sys }}",
        "{{ undefined_function() }}",
        "{{ 1 / 0 }}",
        "{{ messages[7].content.x }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ range(1000000000) | list }}",
    ],
)
def test_a_hostile_or_failing_template_is_refused_in_words(source: str) -> None:
    with pytest.raises(LocalspecError, match="refuses this conversation"):
        rendered(source, HELLO)


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% set x = a %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% for i in range(90) %}{{ f(n - 1) if n else '' }}{% endfor %}{% endmacro %}{{ f(90) }}",
    ],
)
def test_a_template_that_does_not_end_is_stopped(source: str) -> None:
    with pytest.raises(TemplateRefusedError, match="did not end"):
        render_within_bounds(compile_template(source), {}, seconds=0.2)


def test_a_template_that_writes_without_end_is_stopped() -> None:
    source = "{% set x = 'x' * 9999999 %}{% for a in range(99999) %}{{ x }}{% endfor %}"
    with pytest.raises(TemplateRefusedError, match="wrote more than"):
        render_within_bounds(compile_template(source), {})


@pytest.mark.parametrize("source", ["{% for %}", "{{ messages", "{% nonsense %}", "{% if x %}"])
def test_a_template_that_is_not_jinja_is_a_broken_model_file(source: str) -> None:
    with pytest.raises(ModelFileError, match="template is broken"):
        ChatTemplate(source, ())


def test_a_model_without_template_but_with_its_tokens_speaks_chatml_and_says_so() -> None:
    template = ChatTemplate(None, ("<|im_start|>", "<|im_end|>"))
    assert "ChatML" in template.note
    assert template.render((SYSTEM, HELLO)) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello <b>&</b><|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_base_model_gets_plain_text_and_the_person_a_note() -> None:
    template = ChatTemplate(None, ("<s>",))
    assert "base model" in template.note
    assert template.stop == ("\nUser:",)
    assert template.render((SYSTEM, HELLO, REPLY, MORE)) == (
        "Be brief.\n\nUser: Hello <b>&</b>\nAssistant: Hi.\nUser: More?\nAssistant:"
    )


def test_a_model_with_a_template_has_no_note() -> None:
    template = ChatTemplate(GEMMA, ("<|im_start|>", "<|im_end|>"))
    assert template.note == ""
    assert template.stop == ()


def test_tracing_by_somebody_else_goes_on_after_a_rendering() -> None:
    def tracer(*_arguments: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        rendered("{{ messages | length }}", HELLO)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_the_plain_and_chatml_forms_keep_every_message_in_order() -> None:
    for specials, count in itertools.product(((), ("<|im_start|>", "<|im_end|>")), range(1, 5)):
        messages = [Message((Role.USER, Role.ASSISTANT)[i % 2], f"message {i}") for i in range(count)]
        text = ChatTemplate(None, specials).render(messages)
        places = [text.index(f"message {i}") for i in range(count)]
        assert places == sorted(places)
