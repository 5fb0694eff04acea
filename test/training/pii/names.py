#!/usr/bin/env python3
"""Makes names.bin, the words by which package pii knows names: which are first names,
surnames, words of the language and places. See README.md for what it reads."""
import argparse, csv, glob, gzip, importlib, os, pkgutil, struct, unicodedata
from collections import Counter, defaultdict

MOST = 70_000  # entries, the strongest first
FIRST, LAST, WORD = 0, 2, 4  # shifts of the three ranks, two bits each
PLACE = 3  # rank of WORD: a place, an organisation, a month


def plain(word):
    """The form that is hashed: small letters without accents, as pii.plainWord makes it."""
    word = word.lower().translate({ord(a): b for a, b in (("ß", "ss"), ("ø", "o"), ("ł", "l"), ("đ", "d"), ("æ", "ae"), ("œ", "oe"), ("ı", "i"), ("þ", "th"), ("ð", "d"))})
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def fnv(word):
    h = 0x811C9DC5
    for b in word.encode():
        h = (h ^ b) * 0x01000193 & 0xFFFFFFFF
    return h ^ h >> 15


def latin(word):
    return len(word) > 1 and all(c in "'’-" or "LATIN" in unicodedata.name(c, "") for c in word)


def parts(names):
    for name in names:
        for word in name.replace("’", "'").split():
            if latin(word):
                yield plain(word)


def faker_names(path):
    """The lists of first names and surnames of every locale."""
    import sys
    sys.path.insert(0, path)
    import faker.providers.person as person
    first, last = Counter(), Counter()
    for module in pkgutil.iter_modules(person.__path__):
        provider = importlib.import_module("faker.providers.person." + module.name).Provider
        for attribute in dir(provider):
            into = first if "first_" in attribute else last if "last_" in attribute else None
            values = getattr(provider, attribute)
            if into is None or not isinstance(values, (list, tuple, dict)):
                continue
            for value in values:
                group = value if isinstance(value, (list, tuple)) else [value]
                into.update(set(parts(v for v in group if isinstance(v, str))))
    return first, last


def census(path):
    """Shares in percent of the US census of 1990: of first names and of surnames."""
    first, last = defaultdict(float), defaultdict(float)
    for name, into in (("male.first", first), ("female.first", first), ("all.last", last)):
        for line in open(f"{path}/names/dist.{name}"):
            word, share = line.split()[:2]
            into[plain(word)] += float(share)
    return first, last


def births(path):
    """How many were given a first name in the US, by the Social Security Administration."""
    counts = Counter()
    with gzip.open(path, "rt") as f:
        for row in csv.DictReader(f):
            counts[plain(row["first_name"])] += int(float(row["count"]))
    return counts


def words(scowl, wordnet):
    """Words by how common they are, and names of places and groups."""
    rank, place = {}, set()
    for size, value in ((10, 2), (20, 2), (35, 1), (40, 1), (50, 1)):
        for path in glob.glob(f"{scowl}/english-words.{size}") + glob.glob(f"{scowl}/american-words.{size}"):
            for line in open(path, encoding="latin-1"):
                rank.setdefault(plain(line.strip().removesuffix("'s")), value)
    for line in open(f"{wordnet}/data.noun"):
        field = line.split(" ")
        if line.startswith("  ") or field[1] not in ("14", "15", "28") or " @i " not in line and field[1] != "28":
            continue
        for i in range(int(field[3], 16)):
            lemma = field[4 + 2 * i]
            if lemma[:1].isupper() and "_" not in lemma:
                place.add(plain(lemma))
    return rank, place


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    for name in ("names", "faker", "births", "scowl", "wordnet"):
        flags.add_argument("--" + name, required=True)
    flags.add_argument("--out", default="../../../pipeline/pii/names.bin")
    a = flags.parse_args()
    world_first, world_last = faker_names(a.faker)
    census_first, census_last = census(a.names)
    born = births(a.births)
    rank, place = words(a.scowl, a.wordnet)
    entries = {}
    for word in set(world_first) | set(world_last) | set(census_first) | set(census_last) | set(born) | set(rank) | place:
        if len(word) < 2:
            continue
        f = 3 if born[word] >= 50_000 or census_first.get(word, 0) >= .02 else 2 if born[word] >= 3_000 or world_first[word] or census_first.get(word) else 1 if born[word] >= 500 else 0
        share = census_last.get(word, 0)
        l = 3 if share >= .01 else 2 if share >= .001 or world_last[word] else 1 if share > 0 else 0
        w = PLACE if word in place else rank.get(word, 0)
        weight = max(born[word] / 3e6, share, .002 * (world_first[word] + world_last[word]), .05 if w else 0)
        if f or l or w:
            entries[word] = (weight, f << FIRST | l << LAST | w << WORD)
    kept = sorted(entries, key=lambda word: (-entries[word][0], word))[:MOST]
    table = {}
    for word in reversed(kept):
        table[fnv(word) >> 6] = entries[word][1]
    with open(a.out, "wb") as out:
        out.write(b"".join(struct.pack("<I", h << 6 | bits) for h, bits in sorted(table.items())))
    print(len(entries), "words,", len(table), "kept,", os.path.getsize(a.out), "bytes")


if __name__ == "__main__":
    main()
