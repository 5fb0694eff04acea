package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/test/parts"
)

// distVar names the folder with the packages that make dist built.
const distVar = "SATCHEL_TEST_DIST"

// readmesURL is where the gateway listens in README.md.
const readmesURL = "http://127.0.0.1:8228"

// built returns the path of the one package in dist with this ending. It skips a test whose tools are not there.
func built(t *testing.T, ending string, tools ...string) string {
	t.Helper()
	dist := os.Getenv(distVar)
	if dist == "" {
		parts.Missing(t, "dist", distVar+" is not set; make dist builds the packages")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			parts.Missing(t, "dist", tool+" is not installed")
		}
	}
	found, err := filepath.Glob(filepath.Join(dist, "*"+ending))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %d files with %s: %v", dist, len(found), ending, err)
	}
	return found[0]
}

// door starts satchel up and its gateway. It returns the gateway's address and a token.
func door(t *testing.T) (address, token string) {
	t.Helper()
	s := up(t)
	token = s.Token(t, "shell")
	address, _ = s.Gateway(t)
	return address, token
}

func TestPython(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{".whl", ".tar.gz"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			file := built(t, ending, "python3")
			address, token := door(t)
			agent := snippet(t, "python", "Satchel(", readmesURL, address, "satchel_…", token)
			dir := folder(t, map[string]string{"agent.py": agent})
			start(t, dir, nil, "python3", "-m", "venv", "env")
			start(t, dir, nil, "env/bin/pip", "install", "--quiet", "--no-cache-dir", file)
			promised(t, start(t, dir, nil, "env/bin/python", "agent.py"))
		})
	}
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	file := built(t, ".tgz", "node", "npm")
	address, token := door(t)
	dir := folder(t, map[string]string{
		"package.json": `{"private": true}`,
		"agent.mjs":    snippet(t, "ts", "new Satchel(", readmesURL, address, "satchel_…", token),
	})
	start(t, dir, nil, "npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", file)
	promised(t, start(t, dir, nil, "node", "agent.mjs"))
}

// What one door stores, curl and an editor are told.
func TestCurlAndEditor(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		parts.Missing(t, "dist", "curl is not installed")
	}
	s := up(t)
	token := s.Token(t, "shell")
	address, _ := s.Gateway(t)
	s.Must(t, "emit", "--text", "Jonas renewed the gateway certificate.")

	script := snippet(t, "sh", "curl", readmesURL, address, "satchel_…", token, "curl -H", "curl -fsS -H")
	promised(t, start(t, t.TempDir(), nil, "sh", "-c", script))

	var settings struct {
		MCPServers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(snippet(t, "json", "mcpServers", "/home/me/.satchel", s.Dir)), &settings); err != nil {
		t.Fatal(err)
	}
	server := settings.MCPServers["satchel"]
	cmd := exec.Command(filepath.Join(bin, server.Command), server.Args...)
	editor := sdk.NewClient(&sdk.Implementation{Name: "editor", Version: "1"}, nil)
	session, err := editor.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "context",
		Arguments: map[string]any{"question": "who renewed the certificate?", "budget": 500}})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			said.WriteString(text.Text)
		}
	}
	promised(t, said.String())
}
