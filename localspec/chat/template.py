"""How a conversation becomes one text: the model file's own template, or a plain one when it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import jinja2

from localspec.chat.events import Message, Role
from localspec.chat.sandbox import TemplateRefusedError, compile_template, render_within_bounds
from localspec.errors import LocalspecError, ModelFileError

_CHATML_TEXTS = {"<|im_start|>", "<|im_end|>"}

_CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

_PLAIN = (
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ message.content | trim + '\n\n' }}"
    "{% else %}{{ message.role | capitalize + ': ' + message.content | trim + '\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


class ChatTemplate:
    """Renders conversations.

    Attributes:
        source: the Jinja text in use.
        note: what a person should know about it; "" when it is the model file's own.
        stop: strings that end an answer besides the model's end token; only the plain text needs one.
    """

    def __init__(self, own: str | None, special_texts: Sequence[str], bos_text: str = "", eos_text: str = "") -> None:
        """Compile the template.

        Args:
            own: the template in the model file. None: ChatML where the vocabulary has its tokens, else plain
                "User: ... Assistant: ..." text, which a base model continues as best it can.
            special_texts: the texts of the control tokens.
            bos_text: what the template finds under `bos_token`.
            eos_text: what the template finds under `eos_token`.

        Raises:
            ModelFileError: the model file's template is not valid Jinja.
        """
        self._tokens = {"bos_token": bos_text, "eos_token": eos_text}
        self.note = ""
        self.stop: tuple[str, ...] = ()
        if own:
            self.source = own
        elif _CHATML_TEXTS.issubset(special_texts):
            self.source = _CHATML
            self.note = (
                "The model file has no chat template; ChatML is used, since its vocabulary has the tokens for it."
            )
        else:
            self.source = _PLAIN
            self.stop = ("\nUser:",)
            self.note = (
                "The model file has no chat template: it is probably a base model, not made to chat. "
                'The conversation is given to it as plain text ("User: ... Assistant: ...").'
            )
        try:
            self._template = compile_template(self.source)
        except (jinja2.TemplateError, RecursionError) as error:
            raise ModelFileError(
                "The model's chat template is broken",
                f"The template inside the model file is not valid Jinja: {error}.",
                "Choose another file of the same model.",
            ) from error

    def render(self, messages: Sequence[Message]) -> str:
        """The text of the conversation up to where the assistant begins to speak.

        A template that refuses or ignores a system prompt gets it at the head of the first message of the person.

        Raises:
            LocalspecError: the template refuses the conversation, in its own words.
        """
        folded = _system_folded(messages)
        try:
            text = self._rendered(messages)
        except TemplateRefusedError as refusal:
            if folded is None:
                raise _in_words(refusal) from refusal
        else:
            if folded is None or messages[0].text.strip() in text:
                return text
        try:
            return self._rendered(folded)
        except TemplateRefusedError as refusal:
            raise _in_words(refusal) from refusal

    def _rendered(self, messages: Sequence[Message]) -> str:
        return render_within_bounds(
            self._template,
            {
                "messages": [{"role": str(message.role), "content": message.text} for message in messages],
                "add_generation_prompt": True,
                # transformers defines these two for every template, and some test them without `is defined`.
                "tools": None,
                "documents": None,
                **self._tokens,
            },
        )


def _system_folded(messages: Sequence[Message]) -> tuple[Message, ...] | None:
    """The system prompt put at the head of the first message of the person; None when there are not both."""
    if len(messages) < 2 or messages[0].role is not Role.SYSTEM or messages[1].role is not Role.USER:
        return None
    first = replace(messages[1], text=f"{messages[0].text}\n\n{messages[1].text}")
    return (first, *messages[2:])


def _in_words(refusal: TemplateRefusedError) -> LocalspecError:
    return LocalspecError(
        "The model's chat template refuses this conversation",
        f"It says: {refusal}",
        "Most templates want the person and the assistant to take turns, the person first; some want no system prompt.",
    )
