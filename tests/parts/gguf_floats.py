"""Writes the weights of a GGUF file as floats, so that a server's own arithmetic is all that is left to differ.

    python benchmarks/gguf_floats.py SOURCE.gguf TARGET.gguf [--bits 16]

llama.cpp multiplies weights of 4 bits with activations that it rounds to 8 bits. With weights in floats it does not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize

ALL_FLOAT32, MOSTLY_FLOAT16 = 0, 1
"""What `general.file_type` says."""

DROPPED = ("general.architecture", "general.file_type", "general.quantization_version")


def write_floats(
    source: Path, target: Path, *, bits: int = 32, layers: int | None = None, bos: bool | None = None
) -> None:
    """Write the model of a GGUF file with weights of 32 or 16 bits, all its layers or the first ones.

    `bos` says whether its tokenizer puts the beginning-of-text token before every text, where that is to change.
    """
    reader = GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(target, architecture)
    writer.add_file_type(ALL_FLOAT32 if bits == 32 else MOSTLY_FLOAT16)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in DROPPED:
            continue
        value, kind = field.contents(), field.types[0]
        if name == f"{architecture}.block_count" and layers is not None:
            value = layers
        if name == "tokenizer.ggml.add_bos_token" and bos is not None:
            value = bos
        writer.add_key_value(name, value, kind, field.types[-1] if kind == GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        parts = tensor.name.split(".")
        if layers is not None and parts[0] == "blk" and int(parts[1]) >= layers:
            continue
        weights = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        # llama.cpp wants vectors, such as those of a norm, in float32.
        writer.add_tensor(tensor.name, weights.astype(np.float16) if bits == 16 and weights.ndim > 1 else weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--bits", type=int, default=32, choices=(32, 16))
    chosen = parser.parse_args()
    write_floats(chosen.source, chosen.target, bits=chosen.bits)


if __name__ == "__main__":
    main()
