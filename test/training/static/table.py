"""The table: its tokenizer, its file format and the reference path that the Go code must equal."""

import hashlib
import pathlib
import struct

import numpy as np
import scipy.sparse as sp
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

MAGIC = b"STATIC01"
MAX_PIECES = 256
MAX_WORD = 200
UNK = "[UNK]"


def reference_tokenizer(vocab: list[str]) -> Tokenizer:
    """BERT's uncased tokenizer without special tokens: nothing is added, "[SEP]" in a text is text."""
    model = WordPiece({p: i for i, p in enumerate(vocab)}, unk_token=UNK, max_input_chars_per_word=MAX_WORD)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def pieces(tokenizer: Tokenizer, texts: list[str], limit: int = MAX_PIECES) -> list[list[int]]:
    """The first limit pieces of every text, unknown ones counted and then left out."""
    unk = tokenizer.token_to_id(UNK)
    out = []
    for start in range(0, len(texts), 8192):
        for e in tokenizer.encode_batch(texts[start:start + 8192], add_special_tokens=False):
            out.append([i for i in e.ids[:limit] if i != unk])
    return out


def bags(rows: list[list[int]], width: int) -> sp.csr_matrix:
    """Row-normalised bags: a row times a table is the mean of the text's rows."""
    lengths = np.array([len(r) for r in rows])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.fromiter((i for r in rows for i in r), np.int32, indptr[-1])
    data = np.repeat(1.0 / np.maximum(lengths, 1), lengths).astype(np.float32)
    s = sp.csr_matrix((data, indices, indptr), shape=(len(rows), width))
    s.sum_duplicates()
    return s


def quantise(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 rows and one float16 scale each, the table first scaled so that the largest scale is 1."""
    top = np.abs(table).max(axis=1)
    scale = (top / top.max()).astype(np.float16)
    step = scale.astype(np.float64) * top.max() / 127
    step[step == 0] = 1
    return np.clip(np.rint(table / step[:, None]), -127, 127).astype(np.int8), scale


def write(path: pathlib.Path, rows: np.ndarray, scale: np.ndarray) -> str:
    """Writes magic, row count, dimensions (uint32, little endian), rows, scales; returns the SHA-256."""
    data = MAGIC + struct.pack("<II", *rows.shape) + rows.tobytes() + scale.astype("<f2").tobytes()
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def read(path: pathlib.Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads what write wrote."""
    data = path.read_bytes()
    if data[:8] != MAGIC:
        raise ValueError(f"{path}: not a table")
    n, d = struct.unpack("<II", data[8:16])
    rows = np.frombuffer(data, np.int8, n * d, 16).reshape(n, d)
    return rows, np.frombuffer(data, "<f2", n, 16 + n * d)


class Reference:
    """The path that defines a vector: mean of the rows of a text's pieces in float64, normalised."""

    def __init__(self, path: pathlib.Path, vocab: list[str]):
        rows, scale = read(path)
        self.table = rows.astype(np.float64) * scale.astype(np.float64)[:, None]
        self.tokenizer = reference_tokenizer(vocab)

    def embed(self, texts: list[str]) -> np.ndarray:
        """One unit vector per text, or zeros where no piece is known."""
        v = bags(pieces(self.tokenizer, texts), len(self.table)).astype(np.float64) @ self.table
        norm = np.linalg.norm(v, axis=1, keepdims=True)
        return np.divide(v, norm, out=np.zeros_like(v), where=norm > 0)
