// The client against the real binary: SATCHEL_TEST_BINARY names it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Satchel, SatchelError } from "../src/index.js";

const binary = process.env.SATCHEL_TEST_BINARY;
const home = mkdtempSync(join(tmpdir(), "satchel-"));
const data = join(home, "data");
const running = [];
let url, memory;

async function start(...args) {
  const p = spawn(binary, [...args, "--dir", data], { stdio: ["ignore", "pipe", "ignore"] });
  running.push(p);
  let said = "";
  p.stdout.setEncoding("utf8");
  while (!said.includes("\n")) said += (await once(p.stdout, "data"))[0];
  return said;
}

const newToken = (...args) => execFileSync(binary, ["token", "add", ...args, "--dir", data], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
const refusedWith = (code) => (e) => e instanceof SatchelError && e.code === code;

before(async () => {
  await start("up", "--nats-port", "0", "--http-addr", "127.0.0.1:0");
  const token = newToken("shell", "--scope", "memory.read,memory.write,memory.erase");
  url = /gateway (\S+)\/openapi.json/.exec(await start("gateway", "--addr", "127.0.0.1:0"))[1];
  memory = new Satchel(url, { token });
});

after(async () => {
  for (const p of running.reverse()) {
    p.kill("SIGTERM");
    if (p.exitCode === null) await once(p, "exit");
  }
  rmSync(home, { recursive: true });
});

test("remember, ask, correct", async () => {
  const time = new Date("2026-03-03T10:00:00Z");
  for (let i = 0; i < 2; i++) assert.equal((await memory.remember("The kiln is fired on Tuesdays.", { key: "kiln", time })).level, "indexed");
  const pack = await memory.context("when is the kiln fired?", { budget: 500 });
  assert.equal(pack.text.split("fired on Tuesdays").length, 2);
  assert.ok(pack.tokens <= 500);
  assert.equal((await memory.pack(pack.packId)).text, pack.text);
  assert.ok((await memory.explain(pack.packId, "kiln")).explanation);
  assert.ok((await memory.search("kiln")).some((r) => r.memory.id === "kiln"));
  assert.match((await memory.get("kiln")).content, /Tuesdays/);
  assert.equal(await memory.get("never"), null);
  assert.deepEqual((await memory.items({ kinds: ["memory"], limit: 1 })).map((i) => i.id), ["kiln"]);
  await memory.correct("kiln", { text: "The kiln is fired on Fridays.", reason: "new plan" });
  assert.match((await memory.context("when is the kiln fired?")).text, /Fridays/);
  assert.ok((await memory.head()).checkpoint);
});

test("forget", async () => {
  const { item } = await memory.remember("The safe is behind the clock.");
  const receipt = await memory.forget([item], { reason: "test" });
  assert.deepEqual(receipt.items, [item]);
  assert.doesNotMatch((await memory.context("where is the safe?")).text, /clock/);
});

test("refusals", async () => {
  await assert.rejects(memory.context("x", { budget: -1 }), (e) => e.code === "validation_error" && e.field !== "" && e.status === 400);
  await assert.rejects(memory.pack("none"), refusedWith("not_found"));
  await assert.rejects(new Satchel(url, { token: "satchel_x" }).head(), refusedWith("unauthenticated"));
  await assert.rejects(new Satchel(url, { token: newToken("reader", "--scope", "memory.read") }).remember("x"), refusedWith("insufficient_scope"));
  await assert.rejects(new Satchel("http://127.0.0.1:1", { token: "x", retries: 0 }).head(), refusedWith("storage_error"));
  await assert.rejects(memory.remember("x", { key: "k" }), TypeError);
});
