package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"satchel/test/testenv/natstest"
	"satchel/test/testenv/postgrestest"
)

// TestAnotherNATS moves a log from the embedded NATS to another one. Until the log is told
// to go on there nothing is logged, and writes say so at once.
func TestAnotherNATS(t *testing.T) {
	t.Parallel()
	for name, use := range map[string][]string{"sqlite": nil, "postgres": {"--database-url", postgrestest.Open(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, use...)
			n.must(t, "emit", "--text", "the kiln is fired on Mondays", "--label", "level:public")
			here := append([]string{"--dir", n.dir}, use...)
			if r := satchel(t, "", append([]string{"rollback", "--stream"}, here...)...); r.code == 0 || !strings.Contains(r.err, "in use by process") {
				t.Errorf("rollback --stream of a running node: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			other := append(here, "--nats-url", natstest.Start(t, natstest.Config{Servers: 1}).URL(), "--stream-mb", "64")
			rollback := func(args ...string) result {
				return satchel(t, "", append(append([]string{"rollback", "--stream"}, other...), args...)...)
			}
			if r := rollback(); r.code != exitUsage || !strings.Contains(r.err, "stop it first") {
				t.Errorf("rollback --stream while the folder is in use: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			n.down(t)
			contains(t, "rollback --stream on the former NATS", satchel(t, "", append([]string{"rollback", "--stream"}, here...)...).out, "nothing waits in it")
			if err := os.CopyFS(n.dir+"-2", os.DirFS(n.dir)); err != nil { // with the log's key
				t.Fatal(err)
			}

			stuck := startNode(t, other...)
			if res, err := http.Get("http://" + stuck.http + "/readyz"); err != nil || res.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("a node whose partition stands still: %v, %v", res, err)
			}
			emit := append([]string{"emit", "--text", "the glaze is blue"}, other...)
			begun := time.Now()
			if r := satchel(t, "", emit...); r.code == 0 || !strings.Contains(r.err, "their stream is not the one that the log was read from") || time.Since(begun) > 15*time.Second {
				t.Errorf("emit: exit code %d after %v\n%s%s", r.code, time.Since(begun), r.out, r.err)
			}
			if r := rollback("--accept"); r.code != exitUsage || !strings.Contains(r.err, "stop it first") {
				t.Errorf("rollback --stream of a running node: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			if r := rollback("--accept", "--dir", n.dir+"-2"); r.code != exitUsage || !strings.Contains(r.err, "stop every process first") {
				t.Errorf("rollback --stream of another folder on the NATS of a running node: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			stuck.down(t)

			if r := rollback(); r.code != exitFound || !strings.Contains(r.err, "1 partition has another stream") {
				t.Errorf("rollback --stream: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			if r := rollback("--accept"); r.code != 0 || !strings.Contains(r.out, "of the former stream the log has what came up to message 1\n") || !strings.Contains(r.out, "is lost") {
				t.Errorf("rollback --stream --accept: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			contains(t, "rollback --stream afterwards", rollback().out, "nothing waits in it")
			after := startNode(t, other...)
			if r := satchel(t, "", emit...); r.code != 0 {
				t.Errorf("emit: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			contains(t, "ask", satchel(t, "", append([]string{"ask", "when is the kiln fired?"}, other...)...).out, "Mondays")
			if after.down(t) != 0 {
				t.Error("the node did not stop well")
			}
		})
	}
}
