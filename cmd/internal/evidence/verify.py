"""Checks a Satchel evidence file with nothing but Python's standard library.
usage: python3 -I verify.py F.zip [KEY]     KEY: the verifier key that you know, or a file with it"""
import base64, hashlib, json, os, re, sys, zipfile
P = 2**255 - 19; L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P; I = pow(2, (P - 1) // 4, P)
class Bad(Exception): pass
def need(ok, name, problem):
    if not ok: raise Bad(f"{name}: {problem}")

# Ed25519, RFC 8032
def recover(y, sign):
    if y >= P: return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P; x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P: x = x * I % P
    if (x * x - x2) % P or (x == 0 and sign): return None
    return P - x if x & 1 != sign else x

def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P

def times(s, p):
    q = (0, 1, 1, 0)
    for bit in bin(s)[:1:-1]: q, p = add(q, p) if bit == "1" else q, add(p, p)
    return q

def point(b):
    y = int.from_bytes(b, "little"); x = recover(y & (1 << 255) - 1, y >> 255); y &= (1 << 255) - 1
    return None if x is None else (x, y, 1, x * y % P)

def ed25519(public, message, signature):
    if len(public) != 32 or len(signature) != 64: return False
    a, r, s = point(public), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= L: return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    p, q = times(s, point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))), add(r, times(h, a))
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0

def H(b): return hashlib.sha256(b).digest()
def signed_text(name, note, key):
    """The text of a C2SP signed note that the key has signed."""
    who, tag, raw = key.split("+", 2); raw = base64.b64decode(raw)
    need(raw[:1] == b"\1" and H(who.encode() + b"\n" + raw)[:4].hex() == tag, "the key", "its hash is another")
    text, _, lines = note.partition("\n\n"); text += "\n"
    for line in lines.splitlines():
        parts = line.split(" ")
        if len(parts) == 3 and parts[:2] == ["\u2014", who]:
            s = base64.b64decode(parts[2], validate=True)
            if s[:4].hex() == tag and ed25519(raw[1:], text.encode(), s[4:]): return text
    raise Bad(f"{name}: the key did not sign it")

def fold(leaf, index, size, path):
    """The root that an inclusion proof leads to, RFC 9162, 2.1.3.2."""
    fn, sn, r = index, size - 1, leaf
    for h in path:
        if sn == 0 or fn > sn: return None
        if fn & 1 or fn == sn:
            r = H(b"\1" + h + r)
            while fn and not fn & 1: fn >>= 1; sn >>= 1
        else: r = H(b"\1" + r + h)
        fn >>= 1; sn >>= 1
    return r if sn == 0 else None

def fields(name, raw):
    """The fields of a leaf preimage: name SP length SP value LF."""
    title = b"satchel log leaf v1\n"; need(raw.startswith(title), name, "no leaf preimage")
    out, at = {}, len(title)
    while at < len(raw):
        key, n, _ = raw[at:].split(b" ", 2); at += len(key) + len(n) + 2
        out[key.decode()] = raw[at:at + int(n)]; at += int(n) + 1
        need(raw[at - 1:at] == b"\n", name, "a field does not end where it says")
    return out

def commit(salt, head, data): return H(bytes.fromhex(salt) + H(head.encode()) + H(data)).hex()
def check_entry(m, n, head, checkpoint):
    """An entry's type and data; data is None for one whose content is not in the file."""
    name = f"entries/{n}.preimage"; f = fields(name, m[name])
    need(int(f["position"]) == n and f["tenant"].decode() == head["tenant"], name, "another entry")
    proof, _, signed = m[f"entries/{n}.tlog-proof"].partition(b"\n\n"); name = f"entries/{n}.tlog-proof"
    lines = proof.decode().split("\n"); need(signed == checkpoint, name, "another checkpoint")
    need(lines[0] == "c2sp.org/tlog-proof@v1" and lines[1] == f"index {n - 1}", name, "another index")
    path = [base64.b64decode(h) for h in lines[2:]]; leaf = H(b"\0" + m[f"entries/{n}.preimage"])
    need(n <= head["size"] and fold(leaf, n - 1, head["size"], path) == head["root"], name, "it does not lead to the root")
    data = m.get(f"entries/{n}.data"); e = {"type": f["type"].decode(), "leaf": leaf.hex(), "subject": f["subject"], "data": None}
    if data is not None:
        o = json.loads(m[f"entries/{n}.opening"])
        need(commit(o["salt"], o["extensions"], data) == f["commitment"].decode(), f"entries/{n}.data", "it is not what was logged")
        e["data"] = json.loads(data)
        result = m.get(f"packs/{n}/result.json")
        if result is not None:
            need(commit(o["attachment_salt"], o.get("refs", ""), result) == f["attachment"].decode(), f"packs/{n}/result.json", "it is not what was logged")
    return e

def check_pack(m, entries, content, pack, drop, decision, id):
    p, d, v = (entries[int(n)] for n in (pack, drop, decision)); what = f"pack {id}"
    for e, kind in (p, "context.packed"), (d, "context.dropped"), (v, "policy.decided"):
        need(e["type"] == f"io.satchel.{kind}.v1" and e["subject"] == p["subject"] and e["data"], what, f"{kind} is not there")
    p, d, v = p["data"], d["data"], v["data"]
    need(p["id"] == id == d["pack_id"] and v["request_id"] == p["request_id"], what, "drop report or decision is another's")
    result, text = m.get(f"packs/{pack}/result.json"), m.get(f"packs/{pack}/text.txt")
    if result is not None:
        salt = bytes.fromhex(json.loads(result)["payload"]["pack"].get("salt", ""))
        need(H(result).hex() == p["result_sha256"], what, "the result is another")
        need(text is not None and H(salt + text).hex() == p["rendered_sha256"], what, "the text is another")
    elif content:
        gone = [e for e in entries.values() if e["type"] == "io.satchel.memory.erased.v1" and int(pack) in ((e["data"].get("receipt") or {}).get("packs") or [])]
        need(gone, what, "the result is missing, and no receipt says that it was erased")
    shown = {i["id"] for s in p["sections"] for i in s.get("items") or []}
    refs = {r["item_id"]: r for r in p["provenance_refs"] or []}
    empty = {x["item_id"] for x in d["drops"] or [] if x["reason"] == "policy" and x.get("detail") == "redacted_whole"}
    allowed = {x["item_id"] for x in v["verdicts"] or [] if x["allow"]} - empty
    denied, dropped = {x["item_id"] for x in v["verdicts"] or []} - allowed, {x["item_id"] for x in d["drops"] or []}
    for i in shown:
        need(i in refs and int(refs[i]["position"]) in entries and entries[int(refs[i]["position"])]["leaf"] == refs[i]["leaf"], what, f"item {i} is not proved")
        need(i in allowed, what, f"no verdict allows item {i}")
    need(all(x["reason"] == "policy" for x in d["drops"] or [] if x["item_id"] in denied), what, "a denied item is named")
    need(sum((d.get("denied") or {}).values()) == len(denied), what, "the denied items do not add up")
    need(allowed <= shown | dropped, what, "items that were allowed are neither shown nor dropped")

def main(file, known):
    size = os.path.getsize(file); need(22 <= size <= 1 << 30, "the zip", "it is no evidence file, or larger than 1 GiB")
    with open(file, "rb") as f, zipfile.ZipFile(file) as z:
        f.seek(-22, 2); need(f.read(4) == b"PK\5\6", "the zip", "something else stands behind it"); names, left, at = z.namelist(), size, 0; need(len(names) == len(set(names)), "the zip", "a name is there twice")
        for i in z.infolist():
            left -= i.file_size; need(i.compress_type == 0 and i.compress_size == i.file_size and left >= 0, i.filename, "it is not stored as Satchel stores it")
        for i in sorted(z.infolist(), key=lambda i: i.header_offset):
            need(i.header_offset == at, i.filename, "something else stands before it"); f.seek(at + 26); b = f.read(4); at += 30 + b[0] + b[2] + 256 * (b[1] + b[3]) + i.file_size
        need(at == z.start_dir, "the zip", "something else stands behind its members"); m = {n: z.read(n) for n in names}
    key = m["keys/log.vkey"].decode().strip(); need(known is None or known.split("+", 2)[-1] == key.split("+", 2)[-1], "keys/log.vkey", "it is not the key that you know")
    lines = signed_text("manifest", m["manifest"].decode(), key).splitlines(); need(lines[0] == "satchel-evidence/1", "manifest", "another format")
    said = [l.split(" ") for l in lines[1:]]; one = {l[0]: l[1:] for l in said}
    listed = {" ".join(l[3:]): l[1:3] for l in said if l[0] == "file"}
    for n in sorted(set(names) - {"manifest"} | set(listed)): need(n in m and listed.get(n) == [H(m[n]).hex(), str(len(m[n]))], n, "it is not what the manifest lists")
    head = {"tenant": one["tenant"][0], "size": int(one["head"][0]), "root": bytes.fromhex(one["head"][1])}
    top = signed_text("checkpoint", m["checkpoint"].decode(), key).splitlines()
    need(top[:2] == [one["origin"][0], str(head["size"])] and base64.b64decode(top[2]) == head["root"], "checkpoint", "it is not the head of the manifest")
    entries = {int(n): check_entry(m, int(n), head, m["checkpoint"]) for n in re.findall(r"^entries/(\d+)\.preimage$", "\n".join(names), re.M)}
    for n in names: need(not n.startswith("entries/") or int(n[8:].split(".")[0]) in entries, n, "an entry without a proof")
    packs = [l[1:] for l in said if l[0] == "pack"]
    for p in packs: check_pack(m, entries, one["content"] == ["true"], *p)
    print(f"ok: {len(packs)} packs, {len(entries)} entries, in the log {one['origin'][0]} of {head['size']} entries")
    print("signed by " + key + ("" if known else "\nCompare that key with one that you know, or name it: verify.py F.zip KEY"))
if __name__ == "__main__":
    try:
        known = sys.argv[2] if len(sys.argv) > 2 else None
        main(sys.argv[1], open(known).read().strip() if known and os.path.exists(known) else known)
    except Exception as e:
        sys.exit(f"REFUSED: {e if isinstance(e, Bad) else repr(e)}")
