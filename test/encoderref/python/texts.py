"""Texts of our own: turns of the dialogue grammar, passages of this repository, and strings of odd characters."""

import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAIN = ROOT / "test" / "training" / "static"
sys.path.insert(0, str(TRAIN))

import dialogue  # noqa: E402
import golden  # noqa: E402


def passages(tokenizer, count: int, limit: int, seed: int) -> list[str]:
    """Texts of 3 to limit tokens, [CLS] and [SEP] included, of evenly spread lengths; tokenizer must not truncate."""
    rng = random.Random(seed)
    files = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md", *ROOT.glob("pipeline/**/*.go")])
    files = [f.read_text(encoding="utf-8") for f in files]
    turns = dialogue.turns(random.Random(seed), 4000)
    out = []
    for i in range(count):
        length = 1 + (limit - 2) * i // count
        text = " ".join(rng.sample(turns, 40))
        first = 0
        if i % 3:
            text = rng.choice(files)
            first = rng.randrange(len(text))
        offsets = tokenizer.encode(text[first:first + 8 * length], add_special_tokens=False).offsets or [(0, 1)]
        out.append(text[first:first + offsets[min(length, len(offsets)) - 1][1]])
    return out


def odd(count: int, seed: int) -> list[str]:
    """Strings of words, word pieces, and characters of all of Unicode but surrogates."""
    rng = random.Random(seed)
    words = " ".join(dialogue.turns(random.Random(seed), 500) + golden.ODD + golden.PLAIN).split()
    blocks = [(0x20, 0x7f), (0, 0x20), (0x80, 0x250), (0x250, 0x600), (0x600, 0x1100), (0x1100, 0x2000), (0x2000, 0x2c00),
              (0x2c00, 0x3400), (0x3400, 0xa000), (0xa000, 0xac00), (0xac00, 0xd7a4), (0xe000, 0x10000), (0x10000, 0x20000), (0x20000, 0x110000)]

    def part() -> str:
        kind = rng.randrange(6)
        if kind < 2:
            return rng.choice(words) + rng.choice(["", " ", ".", ", "])
        if kind == 2:
            return "".join(chr(rng.randrange(0x20, 0x7f)) for _ in range(rng.randrange(1, 12)))
        if kind == 3:
            low, high = rng.choice(blocks)
            return "".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 8)))
        if kind == 4:
            word = rng.choice(words)
            at = rng.randrange(len(word) + 1)
            return word[:at] + chr(rng.choice([0x300, 0x301, 0x308, 0x30a, 0x200b, 0xad, 0x130, 0xdf, 0xfffd, 0x4e2d])) + word[at:]
        return rng.choice(["[CLS]", "[SEP]", "##ing", "a" * rng.randrange(95, 105), "é" * rng.randrange(95, 105), "\t", "\n", "\u3000", "😀"])

    return ["".join(part() for _ in range(rng.randrange(1, 12))) for _ in range(count)]
