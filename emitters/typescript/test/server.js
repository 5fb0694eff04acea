// A satchel up and its gateway in a temporary folder. SATCHEL_TEST_BINARY names the binary.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env.SATCHEL_TEST_BINARY;

export class Server {
  #home = mkdtempSync(join(tmpdir(), "satchel-"));
  #data = join(this.#home, "data");
  #running = [];

  async start() {
    await this.#run("up", "--nats-port", "0", "--http-addr", "127.0.0.1:0");
    this.token = this.newToken("shell", "--scope", "memory.read,memory.write,memory.erase");
    this.url = /gateway (\S+)\/openapi.json/.exec(await this.#run("gateway", "--addr", "127.0.0.1:0"))[1];
  }

  newToken(...args) {
    const command = ["token", "add", ...args, "--dir", this.#data];
    return execFileSync(binary, command, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  }

  async stop() {
    for (const p of this.#running.reverse()) {
      p.kill("SIGTERM");
      if (p.exitCode === null) await once(p, "exit");
    }
    rmSync(this.#home, { recursive: true });
  }

  async #run(...args) {
    const p = spawn(binary, [...args, "--dir", this.#data], { stdio: ["ignore", "pipe", "ignore"] });
    this.#running.push(p);
    let said = "";
    p.stdout.setEncoding("utf8");
    while (!said.includes("\n")) said += (await once(p.stdout, "data"))[0];
    return said;
  }
}
