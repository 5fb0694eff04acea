package release

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"satchel/test/parts"
)

// TestTutorial types docs/tutorial.md into a shell, and finds what the page says that each block prints: its lines in
// order, where … stands for anything.
func TestTutorial(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "python3", "unzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			parts.Missing(t, "tutorial", tool+" is not installed")
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	script := "trap 'kill $UP; wait' EXIT\n"
	promises := map[string]string{}
	last := ""
	for _, b := range blocks {
		if b[1] == "text" {
			promises[last] += b[2]
			continue
		}
		last = "== " + b[2]
		background := "satchel up > up.txt &\nUP=$!\nuntil grep -q 'is up' up.txt; do kill -0 $UP || exit 1; sleep .1; done\n"
		script += "cat <<'TYPED'\n" + last + "TYPED\n" + strings.Replace(b[2], "satchel up\n", background, 1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SATCHEL_NATS_PORT=0",
		"SATCHEL_HTTP_ADDR=127.0.0.1:0", "SATCHEL_EMBEDDINGS_MODEL=table")
	said, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if len(promises) < 8 {
		t.Fatalf("%d blocks promise an output", len(promises))
	}
	for typed, promise := range promises {
		_, printed, _ := strings.Cut(string(said), typed)
		printed, _, _ = strings.Cut(printed, "\n== ")
		for line := range strings.Lines(promise) {
			is := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*"))
			at := is.FindStringIndex(printed)
			if at == nil {
				t.Errorf("%s prints no %q in\n%s", typed, line, said)
				break
			}
			printed = printed[at[1]:]
		}
	}
}
