"""Times the encoder beside ONNX Runtime int8, one thread each, in turns, and prints a table.

    go test -c -o encoder.test ./pipeline/model/encoder
    python timing.py encoder.test [--onnx quantised.onnx] [--rounds 8]

Without --onnx the published weights are quantised by the runtime's own dynamic quantisation,
per channel. Times are processor time of one text, the median and the least over all rounds.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

import texts  # finds the trainer's modules
from teacher import build_graph, model_dir

TOKENS = (18, 64, 256)
SECONDS = 0.4
LINE = re.compile(r"BenchmarkEncode/(\S+)/\d+\S*\s+\d+\s+[\d.]+ ns/op\s+([\d.]+) cpu-ns/least\s+([\d.]+) cpu-ns/median")


def quantised() -> bytes:
    """The published model as the runtime quantises it."""
    with tempfile.TemporaryDirectory() as folder:
        plain, small = os.path.join(folder, "plain.onnx"), os.path.join(folder, "small.onnx")
        with open(plain, "wb") as f:
            f.write(build_graph(load_file(model_dir() / "model.safetensors")))
        quantize_dynamic(plain, small, weight_type=QuantType.QInt8, per_channel=True, extra_options={"DefaultTensorType": 1})
        with open(small, "rb") as f:
            return f.read()


def runtime(model: bytes):
    """A function that runs so many tokens through the model on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()

    def run(tokens: int):
        ids = np.random.RandomState(0).randint(1000, 20000, (1, tokens))
        feed = {}
        for i in inputs:
            value = ids if i.name == "input_ids" else np.ones_like(ids) if "mask" in i.name else np.zeros_like(ids)
            feed[i.name] = value.astype(np.int32 if "int32" in i.type else np.int64)
        session.run(None, feed)
        took, end = [], time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            start = time.thread_time()
            session.run(None, feed)
            took.append(time.thread_time() - start)
        return [("ONNX Runtime int8", statistics.median(took) * 1e3, min(took) * 1e3)]

    return run


def encoder(test: str):
    """A function that runs the Go benchmark for so many tokens."""

    def run(tokens: int):
        out = subprocess.run([test, "-test.run=^$", f"-test.bench=Encode/AVX.*/^{tokens}$", f"-test.benchtime={SECONDS}s", "-test.cpu=1"],
                             capture_output=True, text=True, check=True).stdout
        return [(name, float(median) / 1e6, float(least) / 1e6) for name, least, median in LINE.findall(out)]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test")
    parser.add_argument("--onnx")
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    model = open(args.onnx, "rb").read() if args.onnx else quantised()
    runs = [runtime(model), encoder(os.path.abspath(args.test))]
    before, results = os.getloadavg()[0], {}
    for _ in range(args.rounds):
        for tokens in TOKENS:
            for run in runs:
                for name, median, least in run(tokens):
                    results.setdefault((tokens, name), []).append((median, least))
    print(f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} processors")
    print(f"{'tokens':>6}  {'':20} {'median ms':>10} {'least ms':>10} {'of medians':>11} {'of leasts':>10}")
    for tokens in TOKENS:
        base = None
        for (n, name), rows in results.items():
            if n != tokens:
                continue
            median, least = statistics.median(r[0] for r in rows), min(r[1] for r in rows)
            base = base or (median, least)
            print(f"{tokens:6}  {name:20} {median:10.2f} {least:10.2f} {median / base[0]:11.2f} {least / base[1]:10.2f}")


if __name__ == "__main__":
    main()
