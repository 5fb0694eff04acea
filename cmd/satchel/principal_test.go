package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/schemas"
)

// registered makes a registry with a boss of the bank, who audits, a guest of main, and one
// of main without a key, and returns the arguments for up.
func registered(t *testing.T) (dir, registry string) {
	t.Helper()
	dir = t.TempDir()
	registry = filepath.Join(dir, "principals.yaml")
	if err := os.WriteFile(registry, []byte("tenants:\n  main:\n    principals:\n      - id: old # before there were keys\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"boss", "--tenant", "bank", "--level", "restricted", "--role", "auditor", "--role", "eraser", "--group", "risk"},
		{"guest", "--level", "public"},
	} {
		r := satchel(t, "", append([]string{"principal", "add", "--dir", dir, "--principals", registry}, args...)...)
		if r.code != 0 {
			t.Fatalf("principal add %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		contains(t, "principal add", r.out, args[0], "nkey U", "NATS_NKEY="+dir, "restart satchel up with SATCHEL_PRINCIPALS="+registry)
	}
	return dir, registry
}

func seedOf(dir, tenant, id string) string {
	return filepath.Join(dir, "keys", "principals", tenant, id+".nk")
}

func TestPrincipalsAreRegistered(t *testing.T) {
	t.Parallel()
	dir, registry := registered(t)
	text, err := os.ReadFile(registry)
	if err != nil || !strings.Contains(string(text), "# before there were keys") {
		t.Errorf("the registry: %v\n%s", err, text)
	}
	for path, mode := range map[string]os.FileMode{seedOf(dir, "bank", "boss"): 0o600, seedOf(dir, "main", "guest"): 0o600, registry: 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	run := func(args ...string) result {
		return satchel(t, "", append(append([]string{"principal"}, args...), "--dir", dir, "--principals", registry)...)
	}
	contains(t, "principal ls", run("ls").out, "bank  boss", "restricted", "auditor,eraser", "main  guest", "trust: 0.7", "no key")
	if r := run("add", "translator", "--trust", ".9"); r.code != 0 {
		t.Errorf("add with a trust: %s%s", r.out, r.err)
	}
	contains(t, "principal ls", run("ls").out, "main  translator", "trust: 0.9")
	if r := run("add", "weak", "--trust", ".3"); r.code != 2 {
		t.Errorf("a trust below what anybody has: exit code %d, %s", r.code, r.err)
	}
	if out := run("ls", "--tenant", "bank").out; strings.Contains(out, "guest") {
		t.Errorf("the list of a tenant:\n%s", out)
	}
	before, _ := os.ReadFile(seedOf(dir, "main", "guest"))
	contains(t, "principal key", run("key", "guest").out, "guest of tenant main")
	after, err := os.ReadFile(seedOf(dir, "main", "guest"))
	if err != nil || string(before) == string(after) || !strings.HasPrefix(string(after), "SU") {
		t.Errorf("after a new key: %v", err)
	}
	contains(t, "a key of one's own", run("key", "old", "--nkey", "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4").out, "SEED_FILE")
	if _, err := os.Stat(seedOf(dir, "main", "old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a seed that nobody made: %v", err)
	}
	for says, args := range map[string][]string{
		"is there already":    {"add", "guest"},
		"has no such":         {"key", "nobody"},
		"must be 1 to 64":     {"add", "user:guest"},
		"no public nkey":      {"add", "another", "--nkey", "UABC"},
		"must match [A-Za-z0": {"add", "another", "--tenant", "a.b"},
		"has the nkey of":     {"add", "another", "--nkey", "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"},
	} {
		if r := run(args...); r.code != exitUsage || !strings.Contains(r.err, says) {
			t.Errorf("principal %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	if r := satchel(t, "", "principal", "add", "x", "--dir", dir); r.code != exitUsage || !strings.Contains(r.err, "SATCHEL_PRINCIPALS") {
		t.Errorf("without a registry: exit code %d\n%s", r.code, r.err)
	}
	made := filepath.Join(dir, "made", "new.yaml")
	if r := satchel(t, "", "principal", "add", "first", "--dir", dir, "--principals", made); r.code != 0 {
		t.Errorf("a registry that is not there: exit code %d\n%s", r.code, r.err)
	}
	if r := satchel(t, "", "principal", "ls", "--principals", made); !strings.Contains(r.out, "first") {
		t.Errorf("a registry that was made: %s%s", r.out, r.err)
	}
}

// With a registry clients come with their keys, act as themselves and see their own tenants.
func TestPrincipalsWithKeys(t *testing.T) {
	t.Parallel()
	dir, registry := registered(t)
	n := startNode(t, "--principals", registry)
	if !waitsFor(func() bool { return strings.Contains(n.out.String(), "closed: only principals with a key") }) {
		t.Errorf("up does not say who may connect:\n%s", n.out)
	}
	contains(t, "up", n.out.String(), "2 of 3 principals have a key")
	if _, err := nats.Connect(n.url); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a connection without a key: %v", err)
	}
	as := func(tenant, id string, args ...string) result {
		args = append(args, "--dir", t.TempDir(), "--nats-port", n.url[strings.LastIndex(n.url, ":")+1:], "--nats-nkey", seedOf(dir, tenant, id), "--tenant", tenant)
		return satchel(t, "", args...)
	}
	good := func(tenant, id string, args ...string) string {
		t.Helper()
		r := as(tenant, id, args...)
		if r.code != 0 {
			t.Fatalf("%s: satchel %v: exit code %d\n%s%s", id, args, r.code, r.out, r.err)
		}
		return r.out
	}
	good("bank", "boss", "emit", "--agent", "boss", "--id", "vault", "--text", "the vault code is canary", "--label", "level:restricted")
	contains(t, "boss", good("bank", "boss", "ask", "--as", "boss", "--level", "restricted", "what is the vault code?"), "canary")
	good("main", "guest", "emit", "--agent", "guest", "--text", "the kiln is fired on Mondays", "--label", "level:public")
	contains(t, "guest", good("main", "guest", "ask", "--as", "guest", "when is the kiln fired?"), "Mondays")
	contains(t, "guest's ledger", good("main", "guest", "ledger", "--verify"), "memory.recorded", "context.packed", "proved")
	if out := good("main", "guest", "ledger"); strings.Contains(out, "policy.decided") || strings.Contains(out, "missing") {
		t.Errorf("the ledger of one who is no auditor:\n%s", out)
	}
	contains(t, "boss's ledger", good("bank", "boss", "ledger"), "policy.decided", "context.dropped")

	// Claims and other tenants.
	const refusal = `the key of the connection is that of "guest"`
	for _, args := range [][]string{
		{"ask", "--as", "old", "kiln"}, {"emit", "--agent", "old", "--text", "x"}, {"search", "--as", "boss", "kiln"}, {"assemble", "--as", "boss", "kiln"}, {"premortem", "--as", "boss", "--domain", "x"},
		{"preview", "--as", "boss", "kiln"}, {"answer", "--as", "boss", "kiln"}, {"exception", "list", "--as", "boss"}, {"forget", "vault", "--agent", "boss"}, {"artifact", "put", registry, "--agent", "boss"},
		{"compact", "--as", "boss", "--session", "s", "--budget", "50"}, {"artifact", "revoke", "--as", "boss", "--item", "x"},
	} {
		if r := as("main", "guest", args...); r.code == 0 || !strings.Contains(r.err, refusal) || !strings.Contains(r.err, "policy_denied") {
			t.Errorf("guest: satchel %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	nc := n.connect(t, keyOption(t, seedOf(dir, "main", "guest")))
	for _, subject := range []string{"ctx.v1.bank.request", "mem.v1.bank.put", "log.v1.bank.head", "art.v1.bank.open", "ctx.v1.bank.explain"} {
		if m, err := nc.Request(subject, []byte("{}"), time.Minute); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("guest on %s: %v, %v", subject, m, err)
		}
	}

	// The folder's owner acts as anybody, within what the registry grants.
	contains(t, "the owner", n.must(t, "ask", "--tenant", "bank", "--as", "boss", "--level", "restricted", "what is the vault code?"), "canary")
	contains(t, "the owner as one the registry does not know", n.must(t, "ask", "--tenant", "bank", "what is the vault code?"), `principal "cli" is not in the registry of tenant "bank"`)
	found := mustJSON[schemas.SearchReply](t, n, "search", "--as", "stranger", "kiln")
	if len(found.Warnings) == 0 || !strings.Contains(found.Warnings[0], `"stranger" is not in the registry`) {
		t.Errorf("a search by a stranger: %q", found.Warnings)
	}
	if found := mustJSON[schemas.SearchReply](t, n, "search", "--as", "guest", "kiln"); strings.Contains(strings.Join(found.Warnings, " "), "registry") {
		t.Errorf("a search by the guest: %q", found.Warnings)
	}
	contains(t, "an erasure", good("bank", "boss", "forget", "vault", "--agent", "boss"), "erased vault")
	contains(t, "an artifact", good("bank", "boss", "artifact", "put", registry, "--agent", "boss"), "stored ")
	if r := satchel(t, "", "ask", "--dir", t.TempDir(), "--nats-port", n.url[strings.LastIndex(n.url, ":")+1:], "kiln"); r.code != exitUsage || !strings.Contains(r.err, "--nats-nkey") {
		t.Errorf("without a key: exit code %d\n%s", r.code, r.err)
	}
}

func keyOption(t *testing.T, seed string) nats.Option {
	t.Helper()
	option, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	return option
}

// waitsFor reports whether a condition comes to hold within ten seconds.
func waitsFor(holds func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); <-tick.C {
		if holds() {
			return true
		}
	}
	return false
}

// Without a registry up says what that means.
func TestUpSaysThatItIsOpen(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if !waitsFor(func() bool {
		return strings.Contains(n.out.String(), "any process here may act as any principal and hear every reply")
	}) {
		t.Errorf("up says\n%s", n.out)
	}
}
