// The client against the real binary: SATCHEL_TEST_BINARY names it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Satchel, SatchelError } from "../src/index.js";
import { Server } from "./server.js";

const server = new Server();
let memory;

const refusedWith = (code) => (e) => e instanceof SatchelError && e.code === code;

before(async () => {
  await server.start();
  memory = new Satchel(server.url, { token: server.token });
});

after(() => server.stop());

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
  await assert.rejects(new Satchel(server.url, { token: "satchel_x" }).head(), refusedWith("unauthenticated"));
  await assert.rejects(new Satchel(server.url, { token: server.newToken("reader", "--scope", "memory.read") }).remember("x"), refusedWith("insufficient_scope"));
  await assert.rejects(new Satchel("http://127.0.0.1:1", { token: "x", retries: 0 }).head(), refusedWith("storage_error"));
  await assert.rejects(memory.remember("x", { key: "k" }), TypeError);
});
