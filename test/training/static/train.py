"""Trains the table of the static embedder. See README.md for how to run it.

  1. corpus   sentences, joined passages and random word triples
  2. teacher  sentence vectors of all of them, and of every word piece alone
  3. ridge    a table whose row means predict the teacher's centred vectors
  4. descent  Adagrad on cosine plus in-batch similarity
  5. export   int8 rows with float16 scales, vocabulary, golden file
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import time

import numpy as np
import scipy.sparse as sp

import corpus
import golden
import table
from teacher import WIDTH, Teacher

DIMENSIONS = 256
SIF = 1e-3
RIDGE = 0.03
RIDGE_STEPS = 40
BATCH = 512
TEMPERATURE = 0.05
KL_WEIGHT = 20.0
FIRST_RATE, LAST_RATE = 0.03, 0.001
FIRST_WORD = 1996  # pieces before it are markers and single characters; from it on they fall in frequency


def log(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", flush=True)


def collect(args, teacher: Teacher) -> list[str]:
    """Step 1, kept in the work folder."""
    kept = args.work / "texts.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    rng = random.Random(args.seed)
    sources = corpus.sentences(rng, args.gene_ontology)
    for name, texts in sources.items():
        log(f"{name}: {len(texts)}")
    texts = [t for source in sources.values() for t in source]
    texts += corpus.passages(rng, texts, 12_000) + corpus.triples(rng, texts, teacher.vocab, 45_000)
    rng.shuffle(texts)
    for name, more in corpus.code(rng).items():
        log(f"{name}: {len(more)}")
        texts += more
    kept.write_text(json.dumps(texts), encoding="utf-8")
    return texts


def encode(args, teacher: Teacher, texts: list[str]) -> np.ndarray:
    """Step 2 in slices kept in the work folder, so that an interrupted run goes on where it stopped."""
    parts, size = [], 20_000
    for start in range(0, len(texts), size):
        kept = args.work / f"vectors-{start:07d}.npy"
        if not kept.exists():
            np.save(kept, teacher.encode(texts[start:start + size]))
            log(f"encoded {min(start + size, len(texts))} of {len(texts)}")
        parts.append(np.load(kept))
    return np.concatenate(parts)


def piece_vectors(args, teacher: Teacher) -> np.ndarray:
    """The teacher's vector of every word piece alone, centred."""
    kept = args.work / "pieces.npy"
    if not kept.exists():
        cls, sep = teacher.tokenizer.token_to_id("[CLS]"), teacher.tokenizer.token_to_id("[SEP]")
        np.save(kept, teacher.encode_ids([[cls, i, sep] for i in range(len(teacher.vocab))]))
    e = np.load(kept)
    return e - e.mean(axis=0)


def sif_weights(s: sp.csr_matrix, rows: list[list[int]]) -> np.ndarray:
    """SIF weights from the corpus, smoothed by Zipf's law over the vocabulary, which is sorted by frequency."""
    counts = np.bincount(np.fromiter((i for r in rows for i in r), np.int64), minlength=s.shape[1]).astype(float)
    rank = np.maximum(np.arange(s.shape[1]) - FIRST_WORD + 1, 1)
    zipf = 1 / (rank + 2.7)
    zipf[:FIRST_WORD] = 0
    p = 0.5 * counts / counts.sum() + 0.5 * zipf / zipf.sum()
    return (SIF / (SIF + p)).astype(np.float32)


class Parallel:
    """Sparse times dense on two threads, by blocks of columns."""

    def __init__(self, threads: int = 2):
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.threads = threads

    def dot(self, s: sp.spmatrix, d: np.ndarray) -> np.ndarray:
        blocks = np.array_split(np.arange(d.shape[1]), self.threads)
        return np.hstack(list(self.pool.map(lambda b: s @ np.ascontiguousarray(d[:, b]), blocks)))


def ridge(s: sp.csr_matrix, t: np.ndarray, e0: np.ndarray) -> np.ndarray:
    """Minimises |SE - T|^2 + RIDGE |E - E0|^2 by conjugate gradients, every column on its own."""
    par, st = Parallel(), s.T.tocsr()
    guess = par.dot(s, e0)
    e0 = e0 * (np.vdot(guess, t) / np.vdot(guess, guess))
    x = np.zeros_like(e0)
    r = par.dot(st, t - par.dot(s, e0))
    p, rr = r.copy(), (r * r).sum(axis=0)
    for step in range(RIDGE_STEPS):
        ap = par.dot(st, par.dot(s, p)) + np.float32(RIDGE) * p
        alpha = rr / np.maximum((p * ap).sum(axis=0), 1e-30)
        x += alpha * p
        r -= alpha * ap
        after = (r * r).sum(axis=0)
        p = r + (after / np.maximum(rr, 1e-30)) * p
        rr = after
        if step % 10 == 9:
            log(f"ridge step {step + 1}: residual {np.sqrt(rr.sum()):.4f}")
    return (e0 + x).astype(np.float32)


def unit(m: np.ndarray) -> np.ndarray:
    return m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-9)


def masked_softmax(m: np.ndarray) -> np.ndarray:
    np.fill_diagonal(m, -np.inf)
    m = np.exp(m - m.max(axis=1, keepdims=True))
    return m / m.sum(axis=1, keepdims=True)


def loss_gradient(u: np.ndarray, low: np.ndarray, full: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Cosine and KL of a batch, and the gradient of -cosine + KL_WEIGHT * KL by the raw vectors u."""
    n = len(u)
    norm = np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-6)
    v = u / norm
    want = masked_softmax(full @ full.T / TEMPERATURE)
    have = masked_softmax(v @ v.T / TEMPERATURE)
    kl = float((want * (np.log(want + 1e-12) - np.log(have + 1e-12))).sum() / n)
    g = (have - want) * (KL_WEIGHT / (TEMPERATURE * n))
    dv = (g + g.T) @ v - low / n
    return float((v * low).sum() / n), kl, (dv - (dv * v).sum(axis=1, keepdims=True) * v) / norm


def descend(s: sp.csr_matrix, low: np.ndarray, full: np.ndarray, e: np.ndarray, epochs: int, seed: int) -> np.ndarray:
    """Adagrad with one accumulator per row; the rate falls linearly from FIRST_RATE to LAST_RATE."""
    rng = np.random.default_rng(seed)
    squares = np.zeros(len(e), np.float32)
    per_epoch = s.shape[0] // BATCH
    for epoch in range(epochs):
        order, cosines, kls = rng.permutation(s.shape[0]), 0.0, 0.0
        for b in range(per_epoch):
            pick = order[b * BATCH:(b + 1) * BATCH]
            batch = s[pick]
            columns, inverse = np.unique(batch.indices, return_inverse=True)
            batch = sp.csr_matrix((batch.data, inverse, batch.indptr), shape=(BATCH, len(columns)))
            cosine, kl, du = loss_gradient(batch @ e[columns], low[pick], full[pick])
            g = batch.T @ du
            squares[columns] += (g * g).mean(axis=1)
            rate = FIRST_RATE + (LAST_RATE - FIRST_RATE) * (epoch * per_epoch + b) / (epochs * per_epoch)
            e[columns] -= rate * g / np.sqrt(squares[columns] + 1e-12)[:, None]
            cosines, kls = cosines + cosine, kls + kl
        log(f"epoch {epoch + 1}: cosine {cosines / per_epoch:.4f}, KL {kls / per_epoch:.4f}")
    return e


def fit(args, teacher: Teacher, texts: list[str]) -> np.ndarray:
    """Steps 2 to 4."""
    t = encode(args, teacher, texts)
    t -= t.mean(axis=0)
    axes = np.linalg.eigh(t.T @ t)[1][:, ::-1][:, :DIMENSIONS]
    rows = table.pieces(table.reference_tokenizer(teacher.vocab), texts)
    keep = np.array([i for i, r in enumerate(rows) if r])
    rows, t = [rows[i] for i in keep], t[keep]
    s = table.bags(rows, len(teacher.vocab))
    e0 = (piece_vectors(args, teacher) * sif_weights(s, rows)[:, None] @ axes).astype(np.float32)
    log(f"{s.shape[0]} texts, {s.nnz} pieces, {(t @ axes).var() * DIMENSIONS / (t.var() * WIDTH):.3f} of the variance kept")
    e = ridge(s, (t @ axes).astype(np.float32), e0)
    np.save(args.work / "ridge.npy", e)
    e = descend(s, unit(t @ axes), unit(t), e, args.epochs, args.seed)
    np.save(args.work / "table.npy", e)
    return e


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for intermediate results")
    parser.add_argument("--gene-ontology", type=pathlib.Path, required=True, help="GO.sqlite of the Debian package r-bioc-go.db")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[3] / "pipeline" / "embed" / "static")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=20260101)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    teacher = Teacher()
    e = fit(args, teacher, collect(args, teacher))
    rows, scale = table.quantise(e)
    log("sha256 " + table.write(args.out / "table.bin", rows, scale))
    (args.out.parent / "internal" / "wordpiece" / "vocab.txt").write_text("\n".join(teacher.vocab) + "\n", encoding="utf-8")
    golden.write(args.out / "testdata" / "golden.jsonl.gz", table.Reference(args.out / "table.bin", teacher.vocab))


if __name__ == "__main__":
    main()
