// Memory for the AI SDK, the package ai: a middleware for language models, and tools.
import { jsonSchema, tool } from "ai";

const KEPT = 256; // packs of turns that may go on
const HALF = 4000; // characters of the beginning and of the end of a long question

/** A middleware that puts a context pack in front of the newest message of the user. */
export function satchelMiddleware(memory, { budget = 2000, session, ...asked } = {}) {
  const packs = new Map();

  async function packFor(question, talk, turn, goesOn) {
    const key = JSON.stringify([talk, turn, question]);
    if (goesOn && packs.has(key)) return packs.get(key);
    const options = talk ? { session: talk, repeat: "full" } : {};
    const pack = await memory.context(question, { budget, ...options, ...asked });
    const text = pack.result.payload.results.length > 0 ? pack.text : "";
    packs.delete(key);
    packs.set(key, text);
    if (packs.size > KEPT) packs.delete(packs.keys().next().value);
    return text;
  }

  return {
    specificationVersion: "v4",
    transformParams: async ({ params }) => {
      const { prompt } = params;
      const turn = prompt.findLastIndex((message) => message.role === "user");
      const question = turn < 0 ? "" : questionOf(prompt[turn].content);
      if (!question.trim()) return params;
      const talk = params.providerOptions?.satchel?.session ?? session;
      const text = await packFor(question, talk, turn, turn < prompt.length - 1);
      if (!text) return params;
      const message = { ...prompt[turn], content: [{ type: "text", text: `${text}\n\n` }, ...prompt[turn].content] };
      return { ...params, prompt: prompt.with(turn, message) };
    },
  };
}

/** Tools with which a model remembers, asks, searches and corrects. */
export function satchelTools(memory, { budget = 2000, session, labels } = {}) {
  return {
    remember: tool({
      description: "Store one thing worth knowing later: a fact, decision, preference or outcome.",
      inputSchema: input({
        text: { type: "string" },
        kind: { enum: ["memory", "knowledge", "experience", "value"], description: "default memory" },
      }, ["text"]),
      execute: async ({ text, kind }) => {
        const { item } = await memory.remember(text, { kind, labels, session });
        return `Stored as ${item}.`;
      },
    }),
    context: tool({
      description: "What to know before answering: memories within a token budget. Call it first.",
      inputSchema: input({ question: { type: "string" } }, ["question"]),
      execute: async ({ question }) => (await memory.context(question, { budget, session })).text,
    }),
    search: tool({
      description: "Find memories by words and meaning, best first.",
      inputSchema: input({
        query: { type: "string" },
        limit: { type: "integer", minimum: 1, maximum: 50, description: "default 10" },
      }, ["query"]),
      execute: async ({ query, limit }) => {
        const found = await memory.search(query, { limit });
        return found.map(({ memory: { id, content } }) => ({ id, content }));
      },
    }),
    correct: tool({
      description: "Replace a memory that is wrong or outdated. The old one stays in history.",
      inputSchema: input({
        item: { type: "string", description: "id of the memory, as search returns it" },
        text: { type: "string", description: "what is true instead" },
        reason: { type: "string" },
      }, ["item", "text", "reason"]),
      execute: async ({ item, text, reason }) => {
        const by = await memory.correct(item, { text, reason });
        return `${item} is replaced by ${by.item}.`;
      },
    }),
  };
}

function input(properties, required) {
  return jsonSchema({ type: "object", properties, required, additionalProperties: false });
}

/** The text of a message; of one that is too long for a question, the beginning and the end. */
function questionOf(content) {
  const texts = content.filter((part) => part.type === "text");
  const text = texts.map((part) => part.text).join("\n");
  return text.length > 2 * HALF ? `${text.slice(0, HALF)}\n${text.slice(-HALF)}`.toWellFormed() : text;
}
