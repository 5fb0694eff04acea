// Package attack asks the real binary for what it must not give: every operation of the
// contract, as every kind of principal, for every field of an item in every state that
// restricts it. Each hidden value is a canary of its own, and an oracle that shares
// nothing with the product says who may see it.
//
// A new operation, item field or kind without a row here fails the test. The plain test
// takes a share of the cells; SATCHEL_TEST_ATTACK=all ("make attack") takes all.
package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"satchel/jetstream/embedded"
	"satchel/test/testenv"
)

var binary string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "satchel-attack-")
	if err == nil {
		err = testenv.Build("../..", dir, "./cmd/satchel")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "satchel")
	return m.Run()
}

// all reports whether every cell is asked for, not a share of them.
func all() bool { return os.Getenv("SATCHEL_TEST_ATTACK") == "all" }

// share reports whether the n-th of something is among the share that a plain test takes.
func share(n, of int) bool { return all() || n%of == 0 }

// principal is somebody who asks. Those whose registered is false are unknown to the registry.
type principal struct {
	name, level   string
	groups, roles []string
	claims        map[string]any // instead of what it has
	elsewhere     bool           // a principal of the other tenant
	unregistered  bool
	trust         float64 // granted; 0: the default
}

// principals are asked as each in turn; writer made every item.
var principals = []principal{
	{name: "writer", level: "restricted", groups: []string{"ops"}, roles: []string{"eraser", "counsel"}},
	{name: "confidential", level: "confidential", groups: []string{"ops"}},
	{name: "internal", level: "internal", groups: []string{"ops"}},
	{name: "public", level: "public"},
	{name: "othergroup", level: "restricted", groups: []string{"sales"}},
	{name: "piireader", level: "internal", groups: []string{"ops"}, roles: []string{"pii_reader"}},
	{name: "pseudonyms", level: "internal", groups: []string{"ops"}, roles: []string{"pseudonym_reader"}},
	{name: "credentials", level: "internal", groups: []string{"ops"}, roles: []string{"credentials_reader"}},
	{name: "auditor", level: "internal", groups: []string{"ops"}, roles: []string{"auditor"}},
	{name: "forger", level: "public", claims: map[string]any{"securityLevel": "restricted", "authorizedGroups": []string{"ops"}, "roles": []string{"pii_reader", "credentials_reader", "auditor", "editor", "eraser"}}},
	{name: "stranger", level: "restricted", unregistered: true, claims: map[string]any{"securityLevel": "restricted", "authorizedGroups": []string{"ops"}, "roles": []string{"pii_reader", "auditor"}}},
	{name: "editor", level: "internal", groups: []string{"ops"}, roles: []string{"editor", "template_editor"}},
	{name: "neighbour", level: "restricted", groups: []string{"ops"}, elsewhere: true},
}

// from is what the principal says of itself.
func (p *principal) from() map[string]any {
	said := map[string]any{"id": p.name, "securityLevel": p.level}
	if p.groups != nil {
		said["authorizedGroups"] = p.groups
	}
	for k, v := range p.claims {
		said[k] = v
	}
	return said
}

// rank is what clearance the principal really has: 0 public to 3 restricted.
func (p *principal) rank() int {
	if p.unregistered {
		return 0
	}
	return map[string]int{"public": 0, "internal": 1, "confidential": 2, "restricted": 3}[p.level]
}

func (p *principal) has(role string) bool { return !p.unregistered && contains(p.roles, role) }

func (p *principal) in(group string) bool { return !p.unregistered && contains(p.groups, group) }

func contains(list []string, s string) bool {
	return strings.Contains("\x00"+strings.Join(list, "\x00")+"\x00", "\x00"+s+"\x00")
}

// world is a running Satchel with a registry, and a connection for each principal.
type world struct {
	*testenv.Satchel
	tenants []string
	conns   map[string]*nats.Conn // "tenant/name"; "" is the owner of the data folder
	seeds   map[string]nkeys.KeyPair
	args    []string
	words   *rand.Rand
}

// newWorld starts a Satchel where all principals are registered in each of the tenants;
// with elsewhere, the neighbour is in a tenant of its own alone.
func newWorld(t *testing.T, tenants ...string) *world {
	t.Helper()
	return openWorld(t, principals, tenants)
}

// openWorld is newWorld with some of the principals, and with more flags of satchel up.
func openWorld(t *testing.T, who []principal, tenants []string, flags ...string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{tenants: tenants, conns: map[string]*nats.Conn{}, words: rand.New(rand.NewPCG(24, 11))}
	seeds, registry := map[string]nkeys.KeyPair{}, &strings.Builder{}
	fmt.Fprintln(registry, "tenants:")
	for _, tenant := range append([]string{"elsewhere"}, tenants...) {
		fmt.Fprintf(registry, "  %s:\n    principals:\n", tenant)
		for _, p := range who {
			if p.unregistered || p.elsewhere != (tenant == "elsewhere") {
				continue
			}
			pair, err := nkeys.CreateUser()
			must(t, err)
			public, err := pair.PublicKey()
			must(t, err)
			row := map[string]any{"id": p.name, "level": p.level, "groups": p.groups, "roles": p.roles, "nkey": public}
			if p.trust > 0 {
				row["trust"] = p.trust
			}
			entry, err := json.Marshal(row)
			must(t, err)
			fmt.Fprintf(registry, "      - %s\n", entry)
			seeds[tenant+"/"+p.name] = pair
		}
	}
	file := filepath.Join(dir, "principals.yaml")
	must(t, os.WriteFile(file, []byte(registry.String()), 0o600))
	w.args = append([]string{"--principals", file}, flags...)
	w.Satchel = testenv.Up(t, binary, filepath.Join(dir, "data"), w.args...)
	w.seeds = seeds
	w.connect(t, seeds)
	return w
}

func (w *world) connect(t *testing.T, seeds map[string]nkeys.KeyPair) {
	t.Helper()
	open := func(name string, option nats.Option) {
		nc, err := nats.Connect(w.URL, option, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		must(t, err)
		t.Cleanup(nc.Close)
		w.conns[name] = nc
	}
	for name, pair := range seeds {
		public, err := pair.PublicKey()
		must(t, err)
		open(name, nats.Nkey(public, pair.Sign))
	}
	user, err := embedded.Operator(filepath.Join(w.Dir, "streams"))
	must(t, err)
	open("", user)
}

// conn is how the principal comes in; one that the registry does not know is asked for by the folder's owner.
func (w *world) conn(p *principal, tenant string) *nats.Conn {
	if p.unregistered {
		return w.conns[""]
	}
	if p.elsewhere {
		tenant = "elsewhere"
	}
	return w.conns[tenant+"/"+p.name]
}

const (
	consonants   = "bcdfghjklmnpqrstvwxz"
	canaryLength = 14
)

// canary returns random consonants, which no text holds by chance.
func (w *world) canary() string {
	word := make([]byte, canaryLength)
	for i := range word {
		word[i] = consonants[w.words.IntN(len(consonants))]
	}
	return string(word)
}

// ask sends a request and returns headers and body of the reply; "" when nobody may answer.
func ask(nc *nats.Conn, subject string, body any) string {
	raw, err := json.Marshal(body)
	if err != nil {
		return err.Error()
	}
	m, err := nc.Request(subject, raw, time.Minute)
	if err != nil {
		return ""
	}
	header, err := json.Marshal(m.Header)
	if err != nil {
		return err.Error()
	}
	return string(header) + "\n" + string(m.Data)
}

// reply decodes the body that ask returned.
func reply(t *testing.T, text string) map[string]any {
	t.Helper()
	_, body, _ := strings.Cut(text, "\n")
	var decoded map[string]any
	if err := json.Unmarshal([]byte(body), &decoded); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return decoded
}

// event wraps data as a CloudEvent in a put request.
func put(agent, kind string, data map[string]any, n int) map[string]any {
	return map[string]any{"agent": agent, "wait": "indexed", "event": map[string]any{
		"specversion": "1.0", "id": fmt.Sprintf("%s-%s-%d", agent, kind, n), "source": "attack", "type": "io.satchel.memory." + kind + ".v1",
		"datacontenttype": "application/json", "data": data,
	}}
}

// patient is a context for a machine that is busy.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
