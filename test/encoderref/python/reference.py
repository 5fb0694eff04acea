"""Writes what the reference makes of texts: their pieces by the tokenizers library, their vectors by ONNX Runtime.

    python reference.py golden FILE --count 1000                 # texts of 3 to 256 tokens
    python reference.py pieces FILE --count 100000               # odd strings, pieces only
    python reference.py calibration FILE --count 32 --seed 9     # texts, pieces only

A line is {"text", "pieces", "vector"}. Vector is base64 of little-endian int16, each a number
times 32767; zeros are for a text without a known piece.
"""

import argparse
import base64
import gzip
import json
import pathlib

import numpy as np

import texts  # finds the trainer's modules
from teacher import Teacher

LIMIT = 256


def write(path: pathlib.Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out:
        for row in rows:
            out.write(json.dumps(row).encode() + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["golden", "pieces", "calibration"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    teacher = Teacher(threads=1)
    tokenizer = teacher.tokenizer
    tokenizer.encode_special_tokens = True  # a special token's name in a text is text
    rows = texts.odd(args.count, args.seed) if args.what == "pieces" else texts.passages(tokenizer, args.count, LIMIT, args.seed)
    tokenizer.enable_truncation(LIMIT)
    ids = [e.ids for e in tokenizer.encode_batch(rows)]
    lines = [{"text": text, "pieces": pieces} for text, pieces in zip(rows, ids)]
    if args.what == "golden":
        known = [any(p != teacher.tokenizer.token_to_id("[UNK]") for p in pieces[1:-1]) for pieces in ids]
        for line, vector, ok in zip(lines, teacher.encode_ids(ids), known):
            numbers = np.rint(vector * 32767 * ok).astype("<i2")
            line["vector"] = base64.b64encode(numbers.tobytes()).decode()
    write(args.file, lines)


if __name__ == "__main__":
    main()
