"""Writes the golden file: texts of our own with the pieces and vectors of the reference path.

A line is {"text", "pieces", "vector"}; the vector is base64 of 256 little-endian
int16, each a number times 32767. A vector of zeros is for a text without a known piece.
"""

import base64
import gzip
import json
import pathlib
import random

import numpy as np

import dialogue
import table

ODD = [
    "", " ", "\t\r\n", "\x00", "a\x00b", "\u200bzero\u200bwidth\ufeff", "\x7fdel\x1besc", "vertical\x0btab\x0cfeed\x85next",
    "\u00a0non\u00a0breaking\u2003em\u3000ideographic\u2028line\u2029paragraph", "soft\u00adhyphen",
    "ÀÉÎÕÜ àéîõü", "A\u030angstro\u0308m", "naïve façade, déjà vu", "İstanbul ıssız", "Straße GROSSE ẞ", "ŁÓDŹ łódź", "Ærøskøbing Œuvre",
    "Ελληνικά ΣΊΣΥΦΟΣ", "Привет, как дела? Ёлка й", "שלום עולם", "שָׁלוֹם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีครับ", "გამარჯობა", "Xin chào Việt Nam",
    "日本語のテキスト", "ガギグゲゴ ぱぴぷ", "ﾊﾝｶｸ", "今天天气很好。", "中文and English混合text", "㐀㐁 𠀀𠀁 豈更", "안녕하세요 세계", "한국어 text", "각",
    "😀", "thanks 🎉🎉!", "👩‍👩‍👧 family", "🇩🇪 flag", "❤️ heart", "①②③ ½ ⅓ x²", "ﬁne ﬂow ﬃ", "Ｆｕｌｌｗｉｄｔｈ　ＡＢＣ１２３", "𝓈𝒸𝓇𝒾𝓅𝓉 𝕕𝕠𝕦𝕓𝕝𝕖",
    "don't can't won't it's we'll I'd", "“curly” ‘quotes’ – en — em… dots", "¿Qué? ¡Hola!", "§5 ¶ † ‡ • ‰ ′ ″", "€5 £6 ¥7 $8 ¢9", "a+b=c^d~e|f`g<h>i", "«guillemets» ‹single›",
    "[CLS] hello [SEP] [MASK] [UNK] [PAD] [unused1]", "## ##ing #hashtag @user", "snake_case camelCase SCREAMING_SNAKE kebab-case", "foo.bar(baz)[0]->qux::quux",
    "https://example.org/a/b?c=d&e=f#g", "mail me at someone@example.com", "192.168.0.1 10:30 2023-05-08 3.14159 1,000,000", "v1.2.3-rc.4+build5",
    "supercalifragilisticexpialidocious", "pneumonoultramicroscopicsilicovolcanoconiosis", "antidisestablishmentarianism", "qwrtpsdfghjkl zxcvbnm", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "a" * 199, "b" * 200, "c" * 201, "é" * 200, "é" * 201, "before " + "x" * 300 + " after", "\u0301" * 50, "e" + "\u0301" * 300,
    "word " * 300, "unbelievably " * 200, "😀 " * 255 + "seen unseen", "😀 " * 256 + "unseen", "hyper" * 30 + " end", "x " * 250 + "pneumonoultramicroscopic end",
    "\u0430\u0306 \u0439", "\u1e9b\u0323", "\u0344", "\u2126 \u212b \u2000 \u2001", "\u0958 \u0929", "\u037e \u0387", "\ufb1d \ufb4f", "\u1100\u1161\u11a8",
    "mañana\u0303", "ǅ ǈ ǋ ǲ", "Ꭰ Ꮿ", "ⅷ Ⅷ ⓐ Ⓐ", "\u0000\u0001\u0002", "\ufffd replaced \ufffd", "\ue000 private \uf8ff", "tab\tseparated\tvalues", "line\nbreaks\r\nhere",
    "MIXED Case TeXt", "ends with punctuation!!!???...", "...starts with it", "- bullet\n- list", "```go\nfunc main() {}\n```", "{\"key\": [1, 2.5, null]}", "SELECT * FROM t WHERE a >= 1;",
]

PLAIN = [
    "I adopted a puppy from the shelter last weekend.", "What did Anna paint for her sister's birthday?", "The meeting moved to Thursday at noon.",
    "How do I rebase a branch in git?", "She is allergic to peanuts and shellfish.", "Our flight to Lisbon was delayed by six hours.",
    "Mitochondria supply the cell with energy.", "Interest rates rose by a quarter of a percent.", "He quit smoking three years ago and started running.",
    "The deploy failed because the database migration timed out.", "My grandmother plays the violin in a quartet.", "Remind me to water the plants on Sunday.",
]


def texts() -> list[str]:
    """The odd ones, a few plain ones and turns of the dialogue grammar with a seed of their own."""
    return ODD + PLAIN + dialogue.turns(random.Random(7), 200)


def write(path: pathlib.Path, reference: table.Reference) -> None:
    """Writes the golden file of a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = texts()
    vectors = np.rint(reference.embed(rows) * 32767).astype("<i2")
    cut = table.pieces(reference.tokenizer, rows)
    with open(path, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out:
        for text, ids, vector in zip(rows, cut, vectors):
            line = {"text": text, "pieces": ids, "vector": base64.b64encode(vector.tobytes()).decode()}
            out.write(json.dumps(line).encode() + b"\n")
