"""Asks Satchel, LanceDB and Chroma the same questions by turns and prints latencies."""
import asyncio, hashlib, json, random, re, statistics, subprocess, sys, time

import chromadb, lancedb, nats, numpy
from lancedb.index import FTS

DIMENSIONS, LIMIT = 256, 20


def embed(text):
    """A vector that texts with the same words have in common: enough to measure time."""
    total = numpy.zeros(DIMENSIONS, numpy.float32)
    for word in set(re.findall(r"\w+", text.lower())):
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        total += numpy.random.default_rng(seed).standard_normal(DIMENSIONS, numpy.float32)
    return total / (numpy.linalg.norm(total) or 1)


def open_lancedb(folder, items, vectors):
    table = lancedb.connect(folder).create_table(
        "items", [{"id": i["id"], "text": i["content"], "vector": v} for i, v in zip(items, vectors)])
    table.create_index("text", config=FTS())

    async def ask(text, vector):
        return table.search(query_type="hybrid").vector(vector).text(text).limit(LIMIT).to_list()
    return ask


def open_chroma(folder, items, vectors):
    rows = chromadb.PersistentClient(folder).create_collection("items", embedding_function=None)
    for at in range(0, len(items), 1000):
        part = items[at:at + 1000]
        rows.add(ids=[i["id"] for i in part], documents=[i["content"] for i in part], embeddings=vectors[at:at + 1000])

    async def ask(text, vector):
        return rows.query(query_embeddings=[vector], n_results=LIMIT)
    return ask


async def open_satchel(url, binary, folder, corpus):
    subprocess.run([binary, "import", corpus + "/items.jsonl", "--nats-url", url, "--dir", folder, "--tenant", "bench"],
                   check=True, stdout=subprocess.DEVNULL)
    nc = await nats.connect(url)

    async def ask(text, vector):
        request = {"meta": {"type": "ContextRequest", "from": {"id": "bench", "securityLevel": "restricted",
                   "groups": ["g1", "g2", "g3", "g4", "g5"]}},
                   "payload": {"query": {"text": text, "type": "hybrid"}, "purpose": "p6", "token_budget": 2000, "limit": LIMIT}}
        reply = await nc.request("ctx.v1.bench.request", json.dumps(request).encode(), timeout=60)
        result = json.loads(reply.data)
        assert "payload" in result, result
        return result
    return ask


async def main(binary, corpus, folder):
    items = [json.loads(line) for line in open(corpus + "/items.jsonl")]
    questions = open(corpus + "/questions.txt").read().splitlines()
    vectors = [embed(i["content"]) for i in items]
    node = subprocess.Popen([binary, "up", "--dir", folder + "/data", "--nats-port", "0", "--http-addr", ""],
                            stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"nats://\S+?(?=[,\s])", node.stdout.readline()).group()
        asks = {"satchel": await open_satchel(url, binary, folder + "/data", corpus),
                "lancedb hybrid": open_lancedb(folder + "/lancedb", items, vectors),
                "chroma vector": open_chroma(folder + "/chroma", items, vectors)}
        for ask in asks.values():
            await ask("warm up", embed("warm up"))
        times = {name: [] for name in asks}
        order = list(asks)
        for text in questions:
            vector = embed(text)
            random.shuffle(order)
            for name in order:
                begun = time.perf_counter()
                await asks[name](text, vector)
                times[name].append(1000 * (time.perf_counter() - begun))
    finally:
        node.terminate()
        node.wait()
    print(f"{len(items)} items, {len(questions)} questions, load {open('/proc/loadavg').read().split()[0]}")
    for name, list_ in times.items():
        cuts = statistics.quantiles(list_, n=20)
        print(f"{name:16} p50 {cuts[9]:6.1f} ms  p95 {cuts[18]:6.1f} ms")


asyncio.run(main(*sys.argv[1:]))
