// Runs the console's script on the answer on standard input, and on twelve changed ones.
const fs = require("fs");
const vm = require("vm");
const { webcrypto } = require("crypto");

const context = vm.createContext({ crypto: webcrypto, TextEncoder, TextDecoder, atob, Uint8Array });
vm.runInContext(fs.readFileSync(__dirname + "/../static/console.js", "utf8") + "\nglobalThis.verifyProof = verifyProof;", context);
const [pack, tenant] = process.argv.slice(2);
const answer = fs.readFileSync(0, "utf8");
const other = (hash) => (hash[0] === "0" ? "1" : "0") + hash.slice(1);
const changes = {
  "another leaf": (a) => { a.proof.inclusion.leaf = other(a.proof.inclusion.leaf); },
  "another sibling": (a) => { a.proof.inclusion.hashes[0] = other(a.proof.inclusion.hashes[0]); },
  "a shorter path": (a) => { a.proof.inclusion.hashes.pop(); },
  "a longer path": (a) => { a.proof.inclusion.hashes.push(a.proof.inclusion.leaf); },
  "another position": (a) => { a.proof.inclusion.position++; },
  "another entry": (a) => { a.proof.preimage = a.proof.preimage.replace("agent ", "agent  "); },
  "a swapped value": (a) => { a.proof.preimage = a.proof.preimage.replace(/recorded_at 30 2/, "recorded_at 30 3"); },
  "another size": (a) => { a.proof.checkpoint = a.proof.checkpoint.replace(/\n([0-9]+)\n/, "\n1$1\n"); },
  "another key": (a) => { a.key = a.key.replace(/\+[0-9a-f]{8}\+/, "+00000000+"); },
  "another signature": (a) => { a.proof.checkpoint = a.proof.checkpoint.replace(/.{8}\n$/, "AAAAAAA=\n"); },
  "no signature": (a) => { a.proof.checkpoint = a.proof.checkpoint.split("\n\n")[0] + "\n\n"; },
};

(async () => {
  await context.verifyProof(JSON.parse(answer), pack, tenant);
  let found = 0;
  for (const [name, change] of Object.entries(changes)) {
    const changed = JSON.parse(answer);
    change(changed);
    const why = await context.verifyProof(changed, pack, tenant).then(() => "", (e) => e.message);
    if (!why) throw new Error(name + " is not found");
    found++;
  }
  const why = await context.verifyProof(JSON.parse(answer), "another-pack", tenant).then(() => "", (e) => e.message);
  if (!why) throw new Error("another pack is not found");
  console.log("the proof held, and " + (found + 1) + " changes were found");
})().catch((e) => {
  console.error(e);
  process.exit(1);
});
