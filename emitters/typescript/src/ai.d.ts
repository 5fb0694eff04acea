import type { LanguageModelMiddleware, Tool } from "ai";
import type { ContextOptions, Document, Satchel } from "./index.js";

/** How the middleware asks: as context does. providerOptions.satchel.session of a call takes the place of session. */
export type MiddlewareOptions = ContextOptions;

/**
 * A middleware that puts a context pack in front of the newest message of the user. Steps of one turn see one pack.
 * A prompt without a text of the user, and one for which nothing is found, stays as it is. A refusal rejects the call.
 */
export function satchelMiddleware(memory: Satchel, options?: MiddlewareOptions): LanguageModelMiddleware;

export interface ToolOptions {
  /** Tokens of what context returns, at most. */
  budget?: number;
  /** Session of what is remembered. context does not repeat what it returned to this session. */
  session?: string;
  /** Security labels of what is remembered. */
  labels?: string[];
}

/** Tools with which a model remembers, asks, searches and corrects. None of them erases. */
export function satchelTools(memory: Satchel, options?: ToolOptions): {
  remember: Tool<{ text: string; kind?: "memory" | "knowledge" | "experience" | "value" }, string>;
  context: Tool<{ question: string }, string>;
  search: Tool<{ query: string; limit?: number }, { id: string; content: string | Document }[]>;
  correct: Tool<{ item: string; text: string; reason: string }, string>;
};
