/** A JSON document of the contract; satchel schema describes each. */
export type Document = Record<string, any>;

export interface Receipt {
  item: string;
  level: "queued" | "accepted" | "logged" | "indexed" | "proved";
  position?: number;
  leaf?: string;
  warnings?: string[];
}

/** A context pack: what a model should see, and what was left out by reason. */
export interface Pack {
  text: string;
  packId: string;
  position: number;
  tokens: number;
  leftOut: Record<string, number>;
  warnings: string[];
  result: Document;
}

export interface RememberOptions {
  kind?: string;
  type?: "episodic" | "procedural" | "semantic";
  time?: Date | string;
  labels?: string[];
  session?: string;
  speaker?: string;
  links?: { rel: string; to: string }[];
  /** The same key with the same time stores nothing twice. */
  key?: string;
  wait?: "accepted" | "logged" | "indexed" | "proved";
  [field: string]: unknown;
}

export interface ContextOptions {
  budget?: number;
  session?: string;
  purpose?: string;
  minPosition?: number;
  minScore?: number;
  asOf?: number | Date | string;
  /** Zone of the asker's days, as Asia/Tokyo. */
  tz?: string;
  /** Where the answer should stand. */
  prefer?: "docs" | "code" | "history";
  /** Take the whole budget. */
  fill?: boolean;
  [field: string]: unknown;
}

export class SatchelError extends Error {
  readonly code: string;
  readonly field: string;
  readonly problems: { pointer: string; message: string }[];
  readonly status: number;
  readonly undecided: boolean;
}

export class Satchel {
  constructor(url: string, options: { token: string; timeoutMs?: number; retries?: number });
  remember(content: string | Document | unknown[], options?: RememberOptions): Promise<Receipt>;
  context(question: string, options?: ContextOptions): Promise<Pack>;
  search(query: string, options?: { limit?: number; kinds?: string[]; [field: string]: unknown }): Promise<Document[]>;
  get(item: string): Promise<Document | null>;
  items(options?: { session?: string; labels?: string[]; kinds?: string[]; limit?: number }): Promise<Document[]>;
  pack(id: string): Promise<Pack>;
  explain(pack: string, item: string): Promise<Document>;
  recover(pack: string, items: string[]): Promise<Document>;
  correct(item: string, options: { text?: string; by?: string; reason: string }): Promise<Receipt>;
  forget(items: string[], options: { reason: string; dryRun?: boolean }): Promise<Document>;
  status(): Promise<Document>;
  head(): Promise<Document>;
}
