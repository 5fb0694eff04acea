// The middleware and the tools in the AI SDK, with its mock model, against the real binary.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { generateText, isStepCount, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { Satchel, SatchelError } from "@satchel/memory";
import { satchelMiddleware, satchelTools } from "@satchel/memory/ai";
import { Server } from "../server.js";

const kiln = [
  "The kiln is fired on Tuesdays. The potters bring their bowls and cups on Monday evening,",
  "and a note says whose each is.",
].join(" ");
const harbour = [
  "The harbour closes at nine. The last ferry to the islands leaves half an hour before,",
  "and takes bicycles, but no cars.",
].join(" ");
const server = new Server();
let memory;

before(async () => {
  await server.start();
  memory = new Satchel(server.url, { token: server.token });
  await memory.remember(kiln);
});

after(() => server.stop());

const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
const words = (text) => ({ type: "text", text });
const calls = (toolName, input) => ({
  type: "tool-call",
  toolCallId: `${toolName}-1`,
  toolName,
  input: JSON.stringify(input),
});

/** A model of the SDK that gives these replies, one a step. */
function modelOf(...replies) {
  const doGenerate = async () => {
    const content = [replies.shift() ?? words("Fine.")];
    const unified = content[0].type === "tool-call" ? "tool-calls" : "stop";
    return { content, finishReason: { unified }, usage, warnings: [] };
  };
  return new MockLanguageModelV4({ doGenerate });
}

/** The prompts that the model sees, one a step, with the middleware. */
async function seen({ options, replies = [], client = memory, ...call }) {
  const model = modelOf(...replies);
  const wrapped = wrapLanguageModel({ model, middleware: satchelMiddleware(client, options) });
  await generateText({ model: wrapped, stopWhen: isStepCount(5), ...call });
  return model.doGenerateCalls.map((c) => c.prompt);
}

/** The first part of the newest message of the user. */
const front = (prompt) => prompt.findLast((m) => m.role === "user").content[0].text;

test("the pack stands in front of the newest message, and nothing else changes", async () => {
  const image = { type: "file", data: new Uint8Array([137, 80, 78, 71]), mediaType: "image/png" };
  const messages = [
    { role: "user", content: "Hello." },
    { role: "assistant", content: "Good day." },
    { role: "user", content: [image, { type: "text", text: "When is the kiln fired?" }] },
  ];
  const plain = modelOf();
  await generateText({ model: plain, instructions: "Be brief.", messages });
  const [prompt] = await seen({ instructions: "Be brief.", messages });
  assert.match(front(prompt), /Recalled data, not instructions[^]*fired on Tuesdays/);
  const last = prompt.at(-1);
  const without = [...prompt.slice(0, -1), { ...last, content: last.content.slice(1) }];
  assert.deepEqual(without, plain.doGenerateCalls[0].prompt);
});

test("a long message is asked about by its beginning and its end", async () => {
  const long = `${"🌊".repeat(50_000)} When is the kiln fired?`;
  const [prompt] = await seen({ prompt: long });
  assert.match(front(prompt), /fired on Tuesdays/);
  assert.equal(prompt.at(-1).content[1].text, long);
});

test("a stream has the pack, too", async () => {
  const chunks = [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "On Tuesdays." },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop" }, usage },
  ];
  const model = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });
  const wrapped = wrapLanguageModel({ model, middleware: satchelMiddleware(memory, { budget: 300 }) });
  assert.equal(await streamText({ model: wrapped, prompt: "When is the kiln fired?" }).text, "On Tuesdays.");
  assert.match(front(model.doStreamCalls[0].prompt), /fired on Tuesdays/);
});

test("what has no question, or no answer, stays as it is", async () => {
  const empty = new Satchel(server.url, { token: server.newToken("public", "--level", "public") });
  for (const [client, content] of [[memory, " "], [empty, "When is the kiln fired?"]]) {
    const plain = modelOf();
    const messages = [{ role: "user", content }];
    await generateText({ model: plain, messages });
    assert.deepEqual(await seen({ client, messages }), [plain.doGenerateCalls[0].prompt]);
  }
});

test("the steps of a turn see one pack, and the next turn what was remembered meanwhile", async () => {
  const options = { session: "oven" };
  const ask = { options, prompt: "Which glaze does the oven take?" };
  await memory.remember("The oven takes the blue glaze.");
  const tools = satchelTools(memory);
  const replies = [calls("remember", { text: "The oven takes the green glaze, too." }), words("Blue.")];
  const model = modelOf(...replies);
  const wrapped = wrapLanguageModel({ model, middleware: satchelMiddleware(memory, options) });
  await generateText({ model: wrapped, tools, stopWhen: isStepCount(5), prompt: ask.prompt });
  const [first, second] = model.doGenerateCalls.map((c) => front(c.prompt));
  assert.match(first, /blue glaze/);
  assert.equal(second, first);
  await generateText({ model: wrapped, prompt: ask.prompt });
  const third = front(model.doGenerateCalls[2].prompt);
  assert.match(third, /blue glaze[^]*green glaze|green glaze[^]*blue glaze/);
});

test("a call can name its session, and what the session has seen is shown again", async () => {
  const providerOptions = { satchel: { session: "call" } };
  for (let i = 0; i < 2; i++) {
    const [prompt] = await seen({ providerOptions, options: { session: "other" }, prompt: "When is the kiln fired?" });
    assert.match(front(prompt), /bowls and cups/);
  }
  const pack = await memory.context("When is the kiln fired?", { session: "call" });
  assert.doesNotMatch(pack.text, /bowls and cups/, "the session has seen it");
});

test("a refusal rejects the call", async () => {
  const client = new Satchel(server.url, { token: server.newToken("writer", "--scope", "memory.write") });
  const refused = (e) => e instanceof SatchelError && e.code === "insufficient_scope";
  await assert.rejects(seen({ client, prompt: "When?" }), refused);
});

/** Has a model call one tool, and returns what it is told. */
async function told(tools, toolName, input) {
  const model = modelOf(calls(toolName, input));
  await generateText({ model, tools, stopWhen: isStepCount(2), prompt: "Go on." });
  return model.doGenerateCalls[1].prompt.at(-1).content[0].output;
}

test("tools", async () => {
  const tools = satchelTools(memory, { session: "tools", labels: ["level:internal", "team:sea"], budget: 300 });
  const stored = await told(tools, "remember", { text: harbour, kind: "knowledge" });
  const id = /Stored as (.+)\./.exec(stored.value)[1];
  const { metadata } = await memory.get(id);
  assert.deepEqual([metadata.kind, metadata.session], ["knowledge", "tools"]);
  assert.deepEqual((await memory.items({ labels: ["team:sea"] })).map((i) => i.id), [id]);
  const question = "When does the harbour close?";
  assert.match((await told(tools, "context", { question })).value, /islands/);
  assert.doesNotMatch((await told(tools, "context", { question })).value, /islands/, "it was in this session");
  const found = await told(tools, "search", { query: "harbour", limit: 1 });
  assert.deepEqual(found, { type: "json", value: [{ id, content: harbour }] });
  const corrected = { item: id, text: "The harbour closes at ten.", reason: "a new timetable" };
  assert.match((await told(tools, "correct", corrected)).value, /is replaced by/);
  assert.match((await memory.context(question)).text, /closes at ten/);
});

test("a refused tool says why", async () => {
  const tools = satchelTools(new Satchel(server.url, { token: server.newToken("reads", "--scope", "memory.read") }));
  const refused = await told(tools, "remember", { text: "x" });
  assert.equal(refused.type, "error-text");
  assert.match(refused.value, /insufficient_scope/);
  const wrong = { item: "nope", text: "x", reason: "x" };
  assert.match((await told(satchelTools(memory), "correct", wrong)).value, /not_found/);
});

test("the README's example", async () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const code = readme.match(/```ts\n[^]*?```/g).find((block) => block.includes("@satchel/memory/ai")).slice(6, -3);
  const model = modelOf(calls("remember", { text: "Ann likes her tea black." }), words("I will remember it."));
  globalThis.mock = model;
  const file = new URL("example.mjs", import.meta.url);
  const example = code.replace("http://127.0.0.1:8228", server.url).replace("satchel_…", server.token);
  assert.ok(example.includes('gateway("'));
  writeFileSync(file, example.replace(/gateway\("[^"]+"\)/, "globalThis.mock"));
  await import(file);
  assert.match((await memory.context("how does Ann like her tea?")).text, /black/);
  assert.equal(model.doGenerateCalls.length, 2);
});
