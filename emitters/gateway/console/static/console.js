// The console's script: it lets the ledger grow on its page, and checks proofs. Every page but
// Verify works without it. Nothing is made of markup: text goes in as text.
"use strict";

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const unhex = (text) => {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new Error("a hash is not hexadecimal");
  return Uint8Array.from(text.match(/../g) || [], (two) => parseInt(two, 16));
};
const unbase64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const utf8 = (text) => new TextEncoder().encode(text);
const joined = (...parts) => {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
};
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));

// rootOf folds an inclusion path, leaf to root (RFC 9162, section 2.1.3.2).
async function rootOf(leaf, index, size, path) {
  let at = index;
  let last = size - 1;
  let hash = leaf;
  if (!(at >= 0 && at < size)) throw new Error("the position is not in the tree");
  const half = (n) => Math.floor(n / 2);
  for (const sibling of path) {
    if (last === 0) throw new Error("the path is too long");
    if (at % 2 === 1 || at === last) {
      hash = await sha256([1], sibling, hash);
      while (at % 2 === 0 && at !== 0) {
        at = half(at);
        last = half(last);
      }
    } else {
      hash = await sha256([1], hash, sibling);
    }
    at = half(at);
    last = half(last);
  }
  if (last !== 0) throw new Error("the path is too short");
  return hash;
}

// openHead checks the signature of a checkpoint (C2SP tlog-checkpoint) and returns what it says.
async function openHead(checkpoint, key) {
  const [name, id, encoded] = splitKey(key);
  const raw = unbase64(encoded);
  if (raw.length !== 33 || raw[0] !== 1) throw new Error("the key is no Ed25519 key");
  const hash = await sha256(utf8(name + "\n"), raw);
  if (hex(hash.slice(0, 4)) !== id) throw new Error("the key has another id than it says");
  const end = checkpoint.indexOf("\n\n");
  if (end < 0) throw new Error("the head has no signature");
  const text = checkpoint.slice(0, end + 1);
  const line = checkpoint.slice(end + 2).split("\n").find((l) => l.startsWith("\u2014 " + name + " "));
  if (!line) throw new Error("the head has no signature of this key");
  const signed = unbase64(line.slice(name.length + 3));
  if (hex(signed.slice(0, 4)) !== id) throw new Error("the head is signed by another key");
  const pub = await crypto.subtle.importKey("raw", raw.slice(1), "Ed25519", false, ["verify"]);
  const holds = await crypto.subtle.verify("Ed25519", pub, signed.slice(4), utf8(text));
  if (!holds) throw new Error("the signature of the head is wrong");
  const [origin, size, root] = text.split("\n");
  if (origin !== name || !/^[0-9]+$/.test(size)) throw new Error("the head is of another log");
  return { origin, size: Number(size), root: unbase64(root) };
}

function splitKey(key) {
  const parts = key.match(/^([^+]+)\+([0-9a-f]{8})\+(.+)$/);
  if (!parts) throw new Error("the key is no verifier key");
  return parts.slice(1);
}

// columns reads a leaf preimage: lines "name SP length SP value", lengths in bytes.
function columns(preimage) {
  const raw = utf8(preimage);
  const found = new Map();
  const mark = "satchel log leaf v1\n";
  if (!preimage.startsWith(mark)) throw new Error("the entry has another form than this page knows");
  for (let at = mark.length; at < raw.length; ) {
    const head = /^([a-z_]+) ([0-9]+) /.exec(new TextDecoder().decode(raw.slice(at, at + 64)));
    if (!head) throw new Error("the entry cannot be read");
    const from = at + head[0].length;
    const to = from + Number(head[2]);
    if (raw[to] !== 10 || found.has(head[1])) throw new Error("the entry cannot be read");
    found.set(head[1], new TextDecoder().decode(raw.slice(from, to)));
    at = to + 1;
  }
  return found;
}

// verifyProof checks what the server says of a pack and returns the steps that hold. It throws at
// the first that does not.
async function verifyProof(answer, pack, tenant) {
  const { proof, key } = answer;
  const path = proof.inclusion;
  const steps = [];
  const entry = columns(proof.preimage);
  const packed = entry.get("type") === "io.satchel.context.packed.v1";
  if (!packed || entry.get("id") !== pack || entry.get("tenant") !== tenant) {
    throw new Error("the entry is not that of this pack");
  }
  if (Number(entry.get("position")) !== path.position) throw new Error("the entry is not at that position");
  steps.push("It is entry " + path.position + " of the log, recorded at " + entry.get("recorded_at") + ".");
  const leaf = await sha256([0], utf8(proof.preimage));
  if (hex(leaf) !== path.leaf) throw new Error("the leaf is not the hash of the entry");
  steps.push("Its leaf is the SHA-256 of the entry: " + hex(leaf) + ".");
  const head = await openHead(proof.checkpoint, key);
  if (!head.origin.endsWith("/" + tenant)) throw new Error("the head is of another tenant");
  const root = await rootOf(leaf, path.position - 1, head.size, path.hashes.map(unhex));
  if (hex(root) !== hex(head.root)) throw new Error("the path does not lead to the root of the head");
  steps.push("A path of " + path.hashes.length + " hashes leads to the root of the head with " + head.size + " entries.");
  steps.push("The head is signed by the key " + key + ".");
  return steps;
}

// rememberKey says whether this browser has seen the key before.
function rememberKey(tenant, key) {
  const name = "satchel key of " + tenant;
  const known = localStorage.getItem(name);
  if (known === null) {
    localStorage.setItem(name, key);
    return ["This browser sees the key for the first time, and keeps it. Ask the operator whether it is theirs.", true];
  }
  return known === key
    ? ["It is the key that this browser has seen first.", true]
    : ["It is NOT the key that this browser has seen first: " + known + ".", false];
}

function add(parent, name, text, kind) {
  const e = document.createElement(name);
  e.textContent = text;
  if (kind) e.className = kind;
  parent.append(e);
  return e;
}

async function getJSON(path) {
  const res = await fetch(path, { headers: { Accept: "application/json" } });
  const body = await res.json().catch(() => null);
  if (body === null) throw new Error("the reply is not what this page expects");
  if (!res.ok) throw new Error(body.message || res.statusText);
  return body;
}

async function showProof(box) {
  box.textContent = "";
  if (!globalThis.crypto || !crypto.subtle) {
    const where = "Browsers check signatures on https and on this machine's own address alone. ";
    add(box, "p", where + "Open the console there, or use satchel evidence.", "bad");
    return;
  }
  const list = document.createElement("ol");
  try {
    const answer = await getJSON("/console/packs/" + encodeURIComponent(box.dataset.pack) + "/proof");
    const steps = await verifyProof(answer, box.dataset.pack, box.dataset.tenant);
    const [said, known] = rememberKey(box.dataset.tenant, answer.key);
    const verdict = known ? "Proved: the pack is in the log." : "Not proved: the key has changed.";
    add(box, "p", verdict, known ? "good" : "bad");
    steps.forEach((s) => add(list, "li", s));
    add(list, "li", said, known ? "" : "bad");
    box.append(list);
  } catch (e) {
    const old = e.name === "NotSupportedError";
    const why = old ? "this browser has no Ed25519: use a newer one, or satchel evidence" : e.message;
    add(box, "p", "Not proved: " + why + ".", "bad");
  }
}

// follow adds what the ledger gains to the page, every three seconds.
function follow(body) {
  const pause = document.getElementById("pause");
  const live = document.getElementById("live");
  const kinds = new URLSearchParams(location.search).getAll("kind");
  let last = Number(body.dataset.last);
  let paused = false;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) look();
  });
  let timer = 0;
  async function look() {
    clearTimeout(timer);
    if (paused) return;
    try {
      const asked = new URLSearchParams([["after", last], ...kinds.map((k) => ["kind", k])]);
      const page = await getJSON("/console/ledger/entries?" + asked);
      page.entries.forEach((e) => body.prepend(entryRow(e)));
      last = page.next || Math.max(last, ...page.entries.map((e) => e.position));
      if (page.entries.length) live.textContent = page.entries.length + " new, up to entry " + last;
      while (body.rows.length > 500) body.deleteRow(-1);
    } catch (e) {
      live.textContent = "The ledger does not answer: " + e.message;
    }
    timer = setTimeout(look, 3000);
  }
  look();
}

function entryRow(e) {
  const row = document.createElement("tr");
  add(row, "td", e.position, "n");
  [e.time, e.kind, e.agent, e.type].forEach((text) => add(row, "td", text));
  const about = add(row, "td", e.pack ? "" : e.about);
  if (e.pack) add(about, "a", e.about).href = "/console/packs/" + encodeURIComponent(e.pack);
  return row;
}

if (globalThis.document) {
  const box = document.getElementById("verify");
  if (box) showProof(box);
  const body = document.getElementById("entries");
  if (body && body.dataset.last) follow(body);
}
