"""Tiny models with a recurrent state and random weights, as GGUF files that llama.cpp loads."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tests.pairs.gguf_files import ARRAY, F32, I32, STRING, U32, Entry, text, tokens, value_bytes

WIDTH = 64
HEADS = 2
LAYERS = 3
ALIGNMENT = 32
VOCABULARY = 260

Shapes = dict[str, tuple[int, ...]]


def write_lfm2(path: Path) -> Path:
    """A hybrid: convolution, attention, convolution. llama.cpp keeps its last states, so it can go back a little."""
    extra: list[Entry] = [
        ("lfm2.attention.head_count_kv", (ARRAY, I32), [0, HEADS, 0]),
        ("lfm2.shortconv.l_cache", U32, 3),
    ]
    shapes: Shapes = {"token_embd.weight": (WIDTH, VOCABULARY), "token_embd_norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        names = ("ffn_gate", "ffn_up", "ffn_down")
        shapes |= {f"{block}{name}.weight": (WIDTH, WIDTH) for name in names}
        shapes |= {f"{block}{name}.weight": (WIDTH,) for name in ("ffn_norm", "attn_norm")}
        if layer == 1:
            shapes |= {
                f"{block}{name}.weight": (WIDTH, WIDTH) for name in ("attn_q", "attn_k", "attn_v", "attn_output")
            }
            shapes |= {f"{block}{name}.weight": (WIDTH // HEADS,) for name in ("attn_q_norm", "attn_k_norm")}
        else:
            shapes[f"{block}shortconv.conv.weight"] = (3, WIDTH)
            shapes[f"{block}shortconv.in_proj.weight"] = (WIDTH, 3 * WIDTH)
            shapes[f"{block}shortconv.out_proj.weight"] = (WIDTH, WIDTH)
    return _write(path, "lfm2", extra, shapes)


def write_mamba(path: Path) -> Path:
    """A model that is all state, and of a kind that llama.cpp cannot take back at all."""
    inner, state, rank = 2 * WIDTH, 16, 4
    extra: list[Entry] = [
        ("mamba.ssm.conv_kernel", U32, 4),
        ("mamba.ssm.inner_size", U32, inner),
        ("mamba.ssm.state_size", U32, state),
        ("mamba.ssm.time_step_rank", U32, rank),
    ]
    shapes: Shapes = {"token_embd.weight": (WIDTH, VOCABULARY), "output_norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        shapes |= {
            f"{block}attn_norm.weight": (WIDTH,),
            f"{block}ssm_in.weight": (WIDTH, 2 * inner),
            f"{block}ssm_conv1d.weight": (4, inner),
            f"{block}ssm_conv1d.bias": (inner,),
            f"{block}ssm_x.weight": (inner, rank + 2 * state),
            f"{block}ssm_dt.weight": (rank, inner),
            f"{block}ssm_dt.bias": (inner,),
            f"{block}ssm_a": (state, inner),
            f"{block}ssm_d": (inner,),
            f"{block}ssm_out.weight": (inner, WIDTH),
        }
    return _write(path, "mamba", extra, shapes)


def _write(path: Path, architecture: str, extra: list[Entry], shapes: Shapes) -> Path:
    entries: list[Entry] = [
        ("general.architecture", STRING, architecture),
        (f"{architecture}.block_count", U32, LAYERS),
        (f"{architecture}.context_length", U32, 1024),
        (f"{architecture}.embedding_length", U32, WIDTH),
        (f"{architecture}.feed_forward_length", U32, WIDTH),
        (f"{architecture}.attention.head_count", U32, HEADS),
        (f"{architecture}.attention.layer_norm_rms_epsilon", F32, 1e-5),
        ("tokenizer.ggml.model", STRING, "gpt2"),
        ("tokenizer.ggml.pre", STRING, "gpt-2"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), tokens(VOCABULARY)),
        ("tokenizer.ggml.token_type", (ARRAY, I32), [1] * 256 + [3] * (VOCABULARY - 256)),
        ("tokenizer.ggml.merges", (ARRAY, STRING), ["a b"]),
        ("tokenizer.ggml.eos_token_id", U32, 257),
        *extra,
    ]
    header = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(entries))
    header += b"".join(text(key) + value_bytes(kind, value) for key, kind, value in entries)
    data = b""
    rng = np.random.default_rng(7)
    for name, shape in shapes.items():
        header += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", 0, len(data))
        values = _weights(rng, name, shape).astype("<f4").tobytes()
        data += values + b"\0" * (-len(values) % ALIGNMENT)
    path.write_bytes(header + b"\0" * (-len(header) % ALIGNMENT) + data)
    return path


def _weights(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if "norm" in name:
        return np.ones(shape)
    values = rng.normal(0, 1 / np.sqrt(shape[0]), shape)
    # A state must fade, not grow: its own factor is exp(negative).
    return -np.exp(values) if name.endswith("ssm_a") else values
