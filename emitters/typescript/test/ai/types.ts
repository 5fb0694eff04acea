// What the types promise; it is compiled and not run.
import { generateText, isStepCount, wrapLanguageModel, type LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Satchel } from "@satchel/memory";
import { satchelMiddleware, satchelTools } from "@satchel/memory/ai";

const memory = new Satchel("http://127.0.0.1:8228", { token: "x" });
const middleware = satchelMiddleware(memory, { budget: 500, session: "s", minScore: 0.1 });
const model: LanguageModel = wrapLanguageModel({ model: new MockLanguageModelV4(), middleware });
const tools = satchelTools(memory, { session: "s", labels: ["level:internal"] });
const result = await generateText({ model, tools, stopWhen: isStepCount(3), prompt: "When?" });
for (const call of result.toolCalls) {
  if (!call.dynamic && call.toolName === "search") {
    const limit: number | undefined = call.input.limit;
    console.log(limit);
  }
}
// @ts-expect-error the budget is a number
satchelMiddleware(memory, { budget: "500" });
// @ts-expect-error no tool erases
console.log(tools.forget);
