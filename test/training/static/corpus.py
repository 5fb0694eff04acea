"""The training text: what is read, from which package, and how much of it.

Every source is licensed for this use; NOTICE at the top of the repository lists
them with their versions and licences. Sampling is seeded, so the same packages
give the same corpus.
"""

import ast
import gzip
import html.parser
import importlib.util
import json
import pathlib
import random
import re
import sqlite3
import subprocess
import sysconfig
import textwrap

import yaml

import dialogue

WORDNET = pathlib.Path("/usr/share/wordnet")
PYTHON_DOC = pathlib.Path("/usr/share/doc/python3.11/html")
DICTIONARIES = pathlib.Path("/usr/share/dictd")
SCOWL = pathlib.Path("/usr/share/dict/scowl")
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def package_dir(name: str) -> pathlib.Path:
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise SystemExit(f"install {name} first: see README.md")
    return pathlib.Path(spec.submodule_search_locations[0])


def chitchat(rng: random.Random) -> list[str]:
    """Turns of people chatting about their lives; one in four carries a speaker's name before it, as memories do."""
    data = json.loads((package_dir("chitchat_dataset") / "dataset.json").read_text(encoding="utf-8"))
    out = []
    for conversation in data.values():
        out.append(conversation.get("prompt") or "")
        for group in conversation["messages"]:
            turn = " ".join(m["text"].strip() for m in group)
            if len(turn.split()) < 4:
                continue
            out.append(f"{rng.choice(dialogue.NAMES)}: {turn}" if rng.random() < 0.25 else turn)
            if len(group) > 2:
                out.append(max((m["text"] for m in group), key=len))
    return out


def chatterbot(_: random.Random) -> list[str]:
    """Questions and answers of the English part of the ChatterBot corpus."""
    out = []
    for path in sorted((package_dir("chatterbot_corpus") / "data" / "english").glob("*.yml")):
        for conversation in yaml.safe_load(path.read_text(encoding="utf-8"))["conversations"]:
            turns = [str(t) for t in conversation]
            out += turns + [" ".join(turns[:2])]
    return out


def wordnet(_: random.Random) -> tuple[list[str], list[str]]:
    """Glosses, each behind its lemmas, and example sentences."""
    glosses, examples = [], []
    for pos in ("noun", "verb", "adj", "adv"):
        for line in (WORDNET / f"data.{pos}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  ") or "|" not in line:
                continue
            head, gloss = line.split("|", 1)
            fields = head.split()
            lemmas = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]).replace("_", " ") for i in range(int(fields[3], 16))]
            quoted = re.findall(r'"([^"]+)"', gloss)
            meaning = re.sub(r'"[^"]*"', "", gloss).strip(" ;")
            glosses.append(f"{', '.join(lemmas[:3])}: {meaning}")
            examples += [q for q in quoted if len(q.split()) > 2]
    return glosses, examples


def gene_ontology(path: pathlib.Path) -> list[str]:
    """Terms of biology with their definitions."""
    with sqlite3.connect(path) as db:
        return [f"{term}: {text}" for term, text in db.execute("select term, definition from go_term order by _id")]


class Paragraphs(html.parser.HTMLParser):
    """Collects the text of paragraphs and definition terms."""

    def __init__(self):
        super().__init__()
        self.out, self.open = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "p":
            self.open = []

    def handle_endtag(self, tag):
        if tag == "p" and self.open is not None:
            self.out.append(" ".join("".join(self.open).split()))
            self.open = None

    def handle_data(self, data):
        if self.open is not None:
            self.open.append(data)


def python_docs(_: random.Random) -> list[str]:
    """Paragraphs of the Python documentation."""
    out = []
    for part in ("library", "tutorial", "howto", "faq", "reference"):
        for path in sorted((PYTHON_DOC / part).glob("*.html")):
            parser = Paragraphs()
            parser.feed(path.read_text(encoding="utf-8"))
            out += [p for p in parser.out if 5 <= len(p.split()) <= 120]
    return out


def go_files() -> list[pathlib.Path]:
    root = pathlib.Path(subprocess.check_output(["go", "env", "GOROOT"], text=True).strip()) / "src"
    return [p for p in sorted(root.rglob("*.go"))
            if not p.name.endswith("_test.go") and not {"testdata", "vendor"} & set(p.parts)]


def go_comments(_: random.Random) -> list[str]:
    """Doc comments of Go's source tree: library, compiler and tools."""
    out, block = [], []
    for path in go_files():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("// ") and not line.startswith("//go:"):
                block.append(line[3:])
                continue
            if block and re.match(r"(func|type|const|var|package) ", line):
                text = " ".join(block)
                if 6 <= len(text.split()) <= 120 and "Copyright" not in text:
                    out.append(text)
            block = []
    return out


def python_code(_: random.Random) -> list[str]:
    """Documented functions of Python's standard library, whole if short, else their beginning."""
    root, out = pathlib.Path(sysconfig.get_path("stdlib")), []
    skipped = {"site-packages", "test", "tests", "idlelib", "lib2to3"}
    for path in sorted(root.rglob("*.py")):
        if skipped & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        lines = text.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
                code = "\n".join(lines[node.lineno - 1:min(node.end_lineno, node.lineno + 20)])
                out.append(textwrap.dedent(code)[:500])
    return out


def go_code(_: random.Random) -> list[str]:
    """Functions of Go's standard library behind their comments, cut like Python's."""
    out = []
    for path in go_files():
        block: list[str] = []
        inside = False
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            inside = inside or line.startswith("func ")
            if inside or line.startswith("//"):
                block.append(line)
            else:
                block = []
            if inside and (line.startswith("}") or line.startswith("func ") and line.endswith("}")):
                if len(block) > 4:
                    out.append("\n".join(block[:20])[:500])
                block, inside = [], False
    return out


def dictionaries(_: random.Random) -> list[str]:
    """Entries of two public-domain dictionaries with a lively vocabulary."""
    out = []
    for name in ("devil", "jargon"):
        text = gzip.open(DICTIONARIES / f"{name}.dict.dz", "rt", encoding="utf-8", errors="replace").read()
        for paragraph in re.split(r"\n\s*\n", text):
            flat = " ".join(paragraph.split())
            if 6 <= len(flat.split()) <= 120:
                out.append(flat)
    return out


def words() -> set[str]:
    """The accepted English words: SCOWL up to size 60, names included."""
    out = set()
    for path in sorted(SCOWL.iterdir()):
        kind, size = path.name.rsplit(".", 1)
        if int(size) <= 60 and kind.split("-")[0] in ("english", "american", "british"):
            out |= set(path.read_text(encoding="latin-1").lower().split())
    return {w for w in out if w.isalpha() and w.isascii()}


def sample(rng: random.Random, texts: list[str], count: int) -> list[str]:
    texts = sorted({t for t in texts if t.strip()})
    return rng.sample(texts, min(count, len(texts)))


def sentences(rng: random.Random, ontology: pathlib.Path) -> dict[str, list[str]]:
    """The sources of prose, each cut to its share."""
    glosses, examples = wordnet(rng)
    return {
        "chitchat": sample(rng, chitchat(rng), 80_000),
        "chatterbot": sample(rng, chatterbot(rng), 5_000),
        "wordnet glosses": sample(rng, glosses, 32_000),
        "wordnet examples": sample(rng, examples, 25_000),
        "gene ontology": sample(rng, gene_ontology(ontology), 12_000),
        "python docs": sample(rng, python_docs(rng), 10_000),
        "go comments": sample(rng, go_comments(rng), 9_000),
        "dictionaries": sample(rng, dictionaries(rng), 4_000),
        "dialogue grammar": sample(rng, dialogue.turns(rng, 40_000), 30_000),
    }


def code(rng: random.Random) -> dict[str, list[str]]:
    """Code and short questions about it: kept apart, no passage or triple is made of them."""
    return {
        "python code": sample(rng, python_code(rng), 6_000),
        "go code": sample(rng, go_code(rng), 3_000),
        "programming questions": sample(rng, dialogue.programming(rng, 15_000), 12_000),
    }


def passages(rng: random.Random, texts: list[str], count: int) -> list[str]:
    """Two to four random sentences joined, so that long texts are seen too."""
    return [" ".join(rng.sample(texts, rng.randint(2, 4))) for _ in range(count)]


def triples(rng: random.Random, texts: list[str], vocab: list[str], count: int) -> list[str]:
    """Two words of the 45,000 most frequent and one of the first 6,000, in random order."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in WORD.findall(text.lower()):
            counts[word] = counts.get(word, 0) + 1
    known = words() | {p for p in vocab if p.isascii() and p.isalpha() and len(p) > 2}
    rank = {p: i for i, p in enumerate(vocab)}
    ranked = sorted(known, key=lambda w: (-counts.get(w, 0), rank.get(w, len(vocab)), w))[:45_000]
    out = []
    for _ in range(count):
        picked = [rng.choice(ranked), rng.choice(ranked), rng.choice(ranked[:6_000])]
        rng.shuffle(picked)
        out.append(" ".join(picked))
    return out
