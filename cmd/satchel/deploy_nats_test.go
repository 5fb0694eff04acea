package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/config"
)

// composeNATS runs a server with the configuration of the compose file. It returns the server and its address
// for a user.
func composeNATS(t *testing.T) (*server.Server, func(user string) string) {
	t.Helper()
	text := read(t, filepath.Join(composeDir, "nats.conf"))
	for _, variable := range []string{"$NATS_PASSWORD", "$PLANNER_PASSWORD"} {
		text = strings.ReplaceAll(text, variable, `"secret"`)
	}
	file := filepath.Join(folder(t, map[string]string{"nats.conf": text}), "nats.conf")
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.HTTPPort, options.StoreDir, options.NoSigs = "127.0.0.1", -1, -1, t.TempDir(), true
	running, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	running.Start()
	t.Cleanup(func() {
		running.Shutdown()
		running.WaitForShutdown()
	})
	if !running.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return running, func(user string) string {
		return "nats://" + user + ":secret@" + strings.TrimPrefix(running.ClientURL(), "nats://")
	}
}

// composeFlags are the flags of satchel up that say what compose.yaml says in variables, with this NATS.
func composeFlags(t *testing.T, running *server.Server) []string {
	t.Helper()
	addresses := strings.NewReplacer("${NATS_PASSWORD:?}", "secret", "nats:4222", running.Addr().String(),
		"nats:8222", running.MonitorAddr().String(), "/etc/satchel", filepath.Join("../..", composeDir))
	names := map[string]string{}
	for _, s := range (&config.Settings{}).Effective() {
		names[s.Env], names[s.Older] = s.Name, s.Name
	}
	var flags []string
	for variable, value := range at(t, composed(t, "compose.yaml"), "services", "satchel", "environment").(map[string]any) {
		flags = append(flags, "--"+names[variable]+"="+addresses.Replace(fmt.Sprint(value)))
	}
	return flags
}

// On the NATS of the compose file an agent is whom its account says, and hears its own
// replies alone.
func TestComposeNATS(t *testing.T) {
	t.Parallel()
	running, at := composeNATS(t)
	n := startNode(t, append(composeFlags(t, running), "--stream-mb=256", "--artifact-mb=64")...)
	planner := func(args ...string) result {
		return satchel(t, "", append(args, "--dir", t.TempDir(), "--nats-url", at("planner"))...)
	}
	good := func(args ...string) string {
		t.Helper()
		r := planner(args...)
		if r.code != 0 {
			t.Fatalf("satchel %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		return r.out
	}
	spy, err := nats.Connect(at("planner"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	for _, subject := range []string{"ctx.v1.bank.request", "mem.v1.main.evt.cli", "mem.v1.bank.evt.planner", "$JS.API.STREAM.LIST", "$JS.API.STREAM.DELETE.MEMORY", "_SATCHEL.v1.as.cli.ctx.v1.main.request"} {
		m, err := spy.Request(subject, []byte("{}"), time.Minute)
		if !errors.Is(err, nats.ErrNoResponders) && (err != nil || !strings.Contains(string(m.Data), "JetStream not enabled for account")) {
			t.Errorf("the agent on %s: %v, %v", subject, m, err)
		}
	}
	heard, err := spy.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	good("emit", "--agent", "planner", "--id", "k1", "--text", "the kiln is fired on Mondays")
	good("emit", "--agent", "planner", "--wait", "accepted", "--text", "the glaze is blue")
	contains(t, "the agent", good("ask", "--as", "planner", "when is the kiln fired?"), "Mondays")
	contains(t, "the agent's artifact", good("artifact", "put", "../../LICENSE", "--agent", "planner"), "stored ")
	for _, args := range [][]string{{"ask", "--as", "cli", "kiln"}, {"emit", "--agent", "cli", "--text", "x"}} {
		if r := planner(args...); r.code == 0 || !strings.Contains(r.err, `"planner", which may not act as another principal`) {
			t.Errorf("satchel %v: exit code %d\n%s", args, r.code, r.err)
		}
	}
	// The operator, whose replies the agent does not hear.
	for heard.IsValid() {
		if _, err := heard.NextMsg(100 * time.Millisecond); err != nil {
			break
		}
	}
	operator := func(args ...string) string {
		t.Helper()
		r := satchel(t, "", append(args, "--dir", n.dir, "--nats-url", at("satchel"))...)
		if r.code != 0 {
			t.Fatalf("satchel %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		return r.out
	}
	contains(t, "the operator", operator("ask", "when is the kiln fired?"), "Mondays")
	doctor := satchel(t, "", append([]string{"doctor", "--dir", n.dir}, composeFlags(t, running)...)...)
	contains(t, "the doctor", doctor.out, "ok   streams", "ok   a power cut")
	contains(t, "the operator's erasure", operator("forget", "k1"), "erased k1")
	for {
		m, err := heard.NextMsg(300 * time.Millisecond)
		if err != nil {
			break
		}
		if !strings.HasPrefix(m.Subject, "prov.v1.main.") || strings.Contains(m.Subject, ".decision.") {
			t.Errorf("the agent hears %s", m.Subject)
		}
	}
	if _, err := nats.Connect(strings.Replace(at("x"), "x:secret@", "", 1)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a user: %v", err)
	}
}
