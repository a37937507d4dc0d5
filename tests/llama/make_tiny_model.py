"""Writes a tiny llama model with random weights as a GGUF file, with numpy alone.

It knows nothing: only a grammar makes it write JSON. Its tokens are single characters, so that any
text can be read and written. Run: ``python -m tests.llama.make_tiny_model FILE``.

Source of the format: ggml-org/ggml, docs/gguf.md, version 3.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float32]
_Value = int | float | str | bool | Sequence[str] | Sequence[float] | Sequence[int]

WIDTH: Final = 32
HEADS: Final = 2
LAYERS: Final = 1
HIDDEN: Final = 64
CONTEXT: Final = 16384
_ALIGNMENT: Final = 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6


def vocabulary() -> tuple[list[str], list[float], list[int]]:
    """Tokens with their scores and kinds: three special ones, all bytes, printable ASCII."""
    special = [("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL)]
    octets = [(f"<0x{byte:02X}>", _BYTE) for byte in range(256)]
    # SentencePiece writes a space as a low line of its own.
    letters = [("\u2581" if code == 32 else chr(code), _NORMAL) for code in range(32, 127)]
    tokens = special + octets + letters
    return (
        [text for text, _ in tokens],
        [0.0 if kind != _NORMAL else -float(place) for place, (_, kind) in enumerate(tokens)],
        [kind for _, kind in tokens],
    )


def metadata() -> dict[str, _Value]:
    tokens, scores, kinds = vocabulary()
    return {
        "general.architecture": "llama",
        "general.name": "tiny-random",
        "general.alignment": _ALIGNMENT,
        "general.file_type": 0,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": (
            "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
            "assistant: "
        ),
    }


def tensors(seed: int) -> dict[str, _Array]:
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> _Array:
        return rng.normal(0.0, 0.3, shape).astype(np.float32)

    size = len(vocabulary()[0])
    found = {
        "token_embd.weight": weights(size, WIDTH),
        "output_norm.weight": np.ones(WIDTH, np.float32),
        "output.weight": weights(size, WIDTH),
    }
    for layer in range(LAYERS):
        block = {
            "attn_norm": np.ones(WIDTH, np.float32),
            "attn_q": weights(WIDTH, WIDTH),
            "attn_k": weights(WIDTH, WIDTH),
            "attn_v": weights(WIDTH, WIDTH),
            "attn_output": weights(WIDTH, WIDTH),
            "ffn_norm": np.ones(WIDTH, np.float32),
            "ffn_gate": weights(HIDDEN, WIDTH),
            "ffn_up": weights(HIDDEN, WIDTH),
            "ffn_down": weights(WIDTH, HIDDEN),
        }
        found |= {f"blk.{layer}.{name}.weight": array for name, array in block.items()}
    return found


def write_model(path: Path, *, seed: int = 0) -> None:
    """Write the model; the same seed gives the same bytes."""
    values, arrays = metadata(), tensors(seed)
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(values)))
        for key, value in values.items():
            file.write(_string(key) + _typed(value))
        offset = 0
        for name, array in arrays.items():
            # The fastest-running dimension comes first, the other way round than in numpy.
            shape = array.shape[::-1]
            file.write(_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
            file.write(struct.pack("<IQ", 0, offset))
            offset += _padded(array.nbytes)
        _pad(file)
        for array in arrays.values():
            file.write(array.tobytes())
            _pad(file)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _pad(file: BinaryIO) -> None:
    file.write(b"\0" * (_padded(file.tell()) - file.tell()))


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _typed(value: _Value) -> bytes:
    if not isinstance(value, str) and isinstance(value, Sequence):
        kind = _kind(value[0])
        items = b"".join(_plain(item) for item in value)
        return struct.pack("<IIQ", _ARRAY, kind, len(value)) + items
    kind = _UINT32 if _kind(value) == _INT32 else _kind(value)
    return struct.pack("<I", kind) + _plain(value)


def _kind(value: object) -> int:
    if isinstance(value, bool):
        return _BOOL
    return {int: _INT32, float: _FLOAT32, str: _STRING}[type(value)]


def _plain(value: object) -> bytes:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return struct.pack("<?", value)
    return struct.pack("<f" if isinstance(value, float) else "<i", value)


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
