// The client of satchel gateway. It needs fetch and nothing else.

/** A refused request: code is that of the contract, such as "policy_denied". With undecided, policy gave no verdict: try again later. */
export class SatchelError extends Error {
  constructor(code, message, { field = "", problems = [], status = 0, undecided = false } = {}) {
    super(`${code}: ${message}`);
    this.name = "SatchelError";
    Object.assign(this, { code, field, problems, status, undecided });
  }
}

export class Satchel {
  #url;
  #token;
  #timeout;
  #retries;

  constructor(url, { token, timeoutMs = 35_000, retries = 3 }) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#timeout = timeoutMs;
    this.#retries = retries;
  }

  /** Stores one item and returns its receipt. */
  async remember(content, { kind = "memory", type = "episodic", time, labels, session, speaker, links, key, wait = "indexed", ...fields } = {}) {
    if (key && !time) throw new TypeError("a key needs a time: sent again, the item would carry another one");
    const created_at = time instanceof Date ? time.toISOString() : time;
    const item = { content, kind, type, created_at, security_label: labels, session, speaker, links, ...fields };
    return this.#call("POST", `/v1/memories?wait=${encodeURIComponent(wait)}`, item, { again: Boolean(key), headers: key ? { "Idempotency-Key": key } : {} });
  }

  /** Asks for a context pack. */
  async context(question, { budget = 2000, session, purpose, minPosition, minScore, asOf, ...payload } = {}) {
    const past = asOf === undefined ? {} : typeof asOf === "number" ? { as_of: asOf } : { as_of_time: asOf instanceof Date ? asOf.toISOString() : asOf };
    const body = { payload: { query: { text: question }, token_budget: budget, session, purpose, min_position: minPosition, min_score: minScore, ...past, ...payload } };
    return packOf(await this.#call("POST", "/v1/context", body, { again: true }));
  }

  /** Finds items, best first. */
  async search(query, { limit = 10, kinds, ...fields } = {}) {
    return (await this.#call("POST", "/v1/search", { query, limit, memory_types: kinds, ...fields }, { again: true })).results;
  }

  /** One item, or null where there is none that you may see. */
  async get(item) {
    try {
      return (await this.#call("GET", `/v1/memories/${encodeURIComponent(item)}`, undefined, { again: true })).items[0];
    } catch (refused) {
      if (refused.code === "not_found") return null;
      throw refused;
    }
  }

  /** The current items that pass the filters, newest first: all of them, or as many as limit says. */
  async items({ session, labels = [], kinds = [], limit = 0 } = {}) {
    const found = [];
    for (let after = ""; ; ) {
      const asked = new URLSearchParams([...labels.map((v) => ["label", v]), ...kinds.map((v) => ["kind", v])]);
      if (session) asked.set("session", session);
      if (after) asked.set("after", after);
      asked.set("limit", String(limit ? Math.min(limit - found.length, 100) : 100));
      const reply = await this.#call("GET", `/v1/memories?${asked}`, undefined, { again: true });
      found.push(...reply.items);
      after = reply.next;
      if (!after || (limit && found.length >= limit)) return found;
    }
  }

  /** An earlier pack, as it was shown. */
  async pack(id) {
    return packOf(await this.#call("GET", `/v1/packs/${encodeURIComponent(id)}`, undefined, { again: true }));
  }

  /** Why an item is, or is not, in a pack, and what would change that. */
  explain(pack, item) {
    return this.#call("GET", `/v1/packs/${encodeURIComponent(pack)}/items/${encodeURIComponent(item)}`, undefined, { again: true });
  }

  /** Items whole that a pack left out. */
  recover(pack, items) {
    return this.#call("POST", `/v1/packs/${encodeURIComponent(pack)}/recover`, { item_ids: items }, { again: true });
  }

  /** Replaces an item by a text, or by another item. */
  correct(item, { text, by, reason }) {
    return this.#call("POST", `/v1/memories/${encodeURIComponent(item)}/correct`, { text, by, reason });
  }

  /** Erases items for good; the receipt says store by store what is gone. A dry run says what would go. */
  forget(items, { reason, dryRun = false }) {
    return this.#call("POST", "/v1/forget", { items, reason, dry_run: dryRun });
  }

  /** The size of the log, and up to which position each index has everything. */
  status() {
    return this.#call("GET", "/v1/status", undefined, { again: true });
  }

  /** The signed head of the log. */
  head() {
    return this.#call("GET", "/v1/log/head", undefined, { again: true });
  }

  async #call(method, path, body, { again = false, headers = {} } = {}) {
    for (let attempt = 0; ; attempt++) {
      const last = !again || attempt === this.#retries;
      let reply;
      try {
        reply = await fetch(this.#url + path, {
          method,
          body: body === undefined ? undefined : JSON.stringify(body),
          headers: { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json", ...headers },
          signal: AbortSignal.timeout(this.#timeout),
        });
      } catch (cause) {
        if (cause.name === "TimeoutError") throw new SatchelError("deadline_exceeded", "the gateway did not answer in time");
        if (last) throw new SatchelError("storage_error", `the gateway at ${this.#url} does not answer`);
        await pause(200 * 2 ** attempt);
        continue;
      }
      if (reply.ok) return reply.json();
      const refused = await reply.json().catch(() => ({}));
      if (last || (reply.status !== 429 && reply.status !== 503)) {
        throw new SatchelError(refused.code ?? `http_${reply.status}`, refused.message ?? "the gateway refused the request", { field: refused.field, problems: refused.problems, status: reply.status, undecided: refused.undecided });
      }
      await pause(1000 * Number(reply.headers.get("Retry-After") ?? 1));
    }
  }
}

function packOf(result) {
  const p = result.payload;
  const leftOut = {};
  for (const drop of p.drop_report.drops ?? []) leftOut[drop.reason] = (leftOut[drop.reason] ?? 0) + 1;
  return { text: p.text, packId: p.pack_id, position: p.positions.pack, tokens: p.pack.token_actual, leftOut, warnings: p.explainability.warnings ?? [], result };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
