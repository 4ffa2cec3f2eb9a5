"""Which architectures can take part in a pair: the lists of llama-arch.cpp in llama-cpp-python 0.3.36, by GGUF name."""

from __future__ import annotations

RECURRENT = frozenset(
    {
        "mamba",
        "mamba2",
        "rwkv6",
        "rwkv6qwen2",
        "rwkv7",
        "arwkv7",
    }
)
"""Sum the whole text up in a state (`llm_arch_is_recurrent`)."""

HYBRID = frozenset(
    {
        "jamba",
        "falcon-h1",
        "plamo2",
        "granitehybrid",
        "lfm2",
        "lfm2moe",
        "nemotron_h",
        "nemotron_h_moe",
        "qwen3next",
        "kimi-linear",
        "bailingmoe3",
        "kimi-k3",
        "glm5-next",
        "qwen35",
        "qwen35moe",
        "qwen4exp",
        "deepseek4",
        "minimax-01",
    }
)
"""Do so in some of their layers (`llm_arch_is_hybrid`)."""

CAN_TAKE_BACK = frozenset(
    {
        "kimi-k3",
        "qwen35",
        "qwen35moe",
        "qwen4exp",
        "deepseek4",
        "glm5-next",
        "nemotron_h",
        "nemotron_h_moe",
        "lfm2",
        "lfm2moe",
        "bailingmoe3",
    }
)
"""Of these two, the ones whose last states llama.cpp can keep to go back to (`llm_arch_supports_rs_rollback`)."""

_NOT_GENERATIVE = {
    "clip": "the image part of a model",
    "bert": "an embedding model",
    "modern-bert": "an embedding model",
    "nomic-bert": "an embedding model",
    "nomic-bert-moe": "an embedding model",
    "neo-bert": "an embedding model",
    "jina-bert-v2": "an embedding model",
    "jina-bert-v3": "an embedding model",
    "eurobert": "an embedding model",
    "gemma-embedding": "an embedding model",
    "llama-embed": "an embedding model",
    "t5": "a translation model with an encoder",
    "t5encoder": "an encoder",
    "wavtokenizer-dec": "a speech model",
    "qwen3tts": "a speech model",
    "pockettts": "a speech model",
    "dream": "a diffusion model, which does not write from left to right",
    "llada": "a diffusion model, which does not write from left to right",
    "llada-moe": "a diffusion model, which does not write from left to right",
    "rnd1": "a diffusion model, which does not write from left to right",
    "eagle3": "a draft head, which needs its target's hidden states",
    "dflash": "a draft head, which needs its target's hidden states",
    "gemma4-assistant": "a draft head, which needs its target's hidden states",
}


def why_not_alone(architecture: str) -> str | None:
    """What a model of this architecture is when it cannot write text by itself; None when it can."""
    return _NOT_GENERATIVE.get(architecture)


def cannot_take_back(architecture: str) -> bool:
    """Whether rejected guesses cannot be taken back out of its memory, short of evaluating the whole text again."""
    return architecture in (RECURRENT | HYBRID) - CAN_TAKE_BACK
