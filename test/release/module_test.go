package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"satchel/test/parts"
)

// head is what stands before the README's Go in a program.
const head = `package main

import (
	"context"
	"fmt"
	"log"

	"github.com/nats-io/nats.go"

	"MODULE/emitters"
	"MODULE/schemas"
)

func main() {
	ctx := context.Background()
`

// A module of somebody else requires the published one, and the README's Go runs in it.
func TestGoModule(t *testing.T) {
	t.Parallel()
	if os.Getenv(distVar) == "" { // it compiles everything anew
		parts.Missing(t, "dist", distVar+" is not set; make dist runs this test")
	}
	if out, err := exec.Command("git", "rev-parse", "HEAD").CombinedOutput(); err != nil {
		parts.Missing(t, "git", "the tracked files are published: "+strings.TrimSpace(string(out)))
	}
	const module, version = "example.com/acme/satchel", "v0.9.0"
	proxy := t.TempDir()
	start(t, root, nil, filepath.Join(bin, "release"), "publish", proxy, module, version)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	s := up(t)
	block := snippet(t, "go", "emitters.New", "nats.DefaultURL", `"`+s.URL+`"`)
	dir := folder(t, map[string]string{
		"go.mod":  "module example.org/agent\n\ngo 1.26\n\nrequire " + module + " " + version + "\n",
		"go.sum":  string(sums), // so that only the module under test is taken unseen
		"main.go": strings.ReplaceAll(head, "MODULE", module) + block + "}\n",
	})
	env := strings.Fields(start(t, dir, nil, "go", "env", "GOMODCACHE", "GOPROXY"))
	settings := []string{
		"GOMODCACHE=" + t.TempDir(), // or the next test would get this version from there
		"GOPROXY=file://" + proxy + ",file://" + env[0] + "/cache/download," + env[1],
		"GONOSUMDB=" + module, "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off",
	}
	receipt, pack, _ := strings.Cut(start(t, dir, settings, "go", "run", "."), "\n")
	if receipt != "indexed at log position 1" {
		t.Errorf("printed %q of the receipt", receipt)
	}
	promised(t, pack)
}
