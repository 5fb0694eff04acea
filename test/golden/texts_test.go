package golden_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"satchel/schemas"
	"satchel/test/parts"
	"satchel/test/testenv"
)

// budgets are those at which each operation that has one is asked.
var budgets = []string{"250", "500", "2000"}

// store is a tenant whose texts are kept: what fills it, and what is asked. Its name is the tenant's.
type store struct {
	name      string
	fill      [][]string // arguments of satchel
	questions []string
	sessions  []string // that are compacted
	domains   []string // of premortems
}

func stores(conversation, notes, repository string) []store {
	return []store{
		{
			name: "notes", fill: [][]string{{"import", notes}, {"import", "experiences", "testdata/experiences.jsonl"}},
			questions: []string{
				"why did card payments fail?", "what was decided after the incident?", "who renewed the certificate of the card gateway?",
				"on 3 March, what did the bot find?", "which colour has the harbour ferry?", "thanks!",
			},
			sessions: []string{"incident-77"}, domains: []string{"debugging"},
		},
		{
			name: "sales-1", fill: [][]string{{"import", conversation, "--drop-unknown", "--map", "content=text", "--map", "created_at=ts"}},
			questions: []string{
				"What discount was agreed in the end?", "When does the pilot start, and who runs it?", "list everything that the buyer asked to change",
				"what got in the way of the signature?",
			},
			sessions: []string{"sales-1:s03"},
		},
		{
			name: "repository", fill: [][]string{{"import", "repo", repository, "--name", "kiln"}},
			questions: []string{
				"How far may the kiln cool before a firing has to begin anew?", "what does Resume return?", "who made the change that smooths the curve, and when?",
				"at what temperature are the elements switched off?", "where is the main switch?",
			},
		},
	}
}

// The texts of each operation over notes, a conversation and a repository are the committed ones, byte for byte, at each budget.
func TestTexts(t *testing.T) {
	t.Parallel()
	parts.Long(t)
	if _, err := exec.LookPath("git"); err != nil {
		parts.Missing(t, "git", "no git command on this machine")
	}
	dir := t.TempDir()
	must(t, testenv.Build("../..", dir, "./cmd/satchel"))
	up := testenv.Up(t, filepath.Join(dir, "satchel"), filepath.Join(dir, "data"))
	nc, err := nats.Connect(up.URL)
	must(t, err)
	t.Cleanup(nc.Close)
	for _, s := range stores("../held/sales-1/memories.jsonl", "../../cmd/internal/demo/memories.jsonl", kiln(t)) {
		t.Run(s.name, func(t *testing.T) {
			s.compare(t, up, nc)
		})
	}
}

func (s *store) compare(t *testing.T, up *testenv.Satchel, nc *nats.Conn) {
	for _, args := range s.fill {
		if out, code := up.Run(t, append(args, "--tenant", s.name)...); code != 0 {
			t.Fatalf("satchel %s: exit %d\n%s", strings.Join(args, " "), code, out)
		}
	}
	if out, code := up.Run(t, "emit", "--text", "The kettle is descaled.", "--id", "last", "--created-at", "2026-11-30T12:00:00Z", "--tenant", s.name); code != 0 { // it waits until all before is indexed
		t.Fatalf("exit %d\n%s", code, out)
	}
	got := s.texts(t, up, nc)
	file := filepath.Join("testdata", "texts", s.name+".md")
	if os.Getenv("SATCHEL_GOLDEN") == "write" {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	committed, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(strings.Split(string(committed), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the texts have changed (-committed +now); SATCHEL_GOLDEN=write accepts it:\n%s", diff)
	}
}

// texts has what each operation prints, below the command.
func (s *store) texts(t *testing.T, up *testenv.Satchel, nc *nats.Conn) string {
	var b strings.Builder
	put := func(text string, args ...string) {
		fmt.Fprintf(&b, "# %s\n\n%s\n", strings.Join(args, " "), text)
	}
	run := func(args ...string) string {
		out, code := up.Run(t, append(args, "--tenant", s.name)...)
		if code != 0 {
			t.Errorf("satchel %s: exit %d\n%s", strings.Join(args, " "), code, out)
		}
		return stable(out)
	}
	each := func(what string, text func(budget string) string) {
		last, at := "", ""
		for _, budget := range budgets {
			if now := text(budget); now == last {
				put("As at "+at+".\n", what, budget)
			} else {
				put(now, what, budget)
				last, at = now, budget
			}
		}
	}
	for _, q := range s.questions {
		put("", "Question:", q)
		each("ask", func(budget string) string { return run("ask", "--text", "--budget", budget, q) })
		each("assemble", func(budget string) string { return run("assemble", "--budget", budget, q) })
		each("build", func(budget string) string { return s.build(t, nc, budget, q) })
		put(run("ask", "--text", "--fill", "--budget", "500", q), "ask --fill 500")
		put(run("answer", q), "answer")
		put(run("search", "--limit", "5", q), "search")
	}
	for _, session := range s.sessions {
		each("compact "+session, func(budget string) string { return run("compact", "--session", session, "--budget", budget) })
	}
	for _, domain := range s.domains {
		each("premortem "+domain, func(budget string) string { return run("premortem", "--domain", domain, "--budget", budget) })
	}
	return b.String()
}

// build asks for a rendered template, which has no command.
func (s *store) build(t *testing.T, nc *nats.Conn, budget, question string) string {
	t.Helper()
	request := fmt.Sprintf(`{"from":{"kind":"agent","id":"golden"},"query":%q,"template":"detailed","token_budget":%s}`, question, budget)
	reply, err := nc.Request("ctx.v1."+s.name+".build", []byte(request), time.Minute)
	must(t, err)
	var built schemas.BuildReply
	must(t, json.Unmarshal(reply.Data, &built))
	if built.PackID == "" {
		t.Errorf("build: %s", reply.Data)
	}
	return built.Context
}

// stable leaves out what names the pack, the trace and the day of this run.
func stable(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, " "); !slices.Contains([]string{"proof", "pack", "made", "trace"}, name) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// kiln makes a repository of three commits, which are the same every time.
func kiln(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "kiln")
	must(t, os.CopyFS(dir, os.DirFS("testdata/repository")))
	git := func(day, author string, args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"}, args...)...)
		date := day + "T10:00:00Z"
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME="+author, "GIT_AUTHOR_EMAIL=potter@example.org", "GIT_AUTHOR_DATE="+date,
			"GIT_COMMITTER_NAME="+author, "GIT_COMMITTER_EMAIL=potter@example.org", "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL="+os.DevNull)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, said.String())
		}
	}
	git("2026-02-02", "Ida", "init", "-q", "-b", "main")
	for _, c := range []struct {
		day, author, message string
		files                []string
	}{
		{"2026-02-02", "Ida", "Fire by a program of steps", []string{"README.md", "program.go"}},
		{"2026-03-09", "Tove", "Draw the curve of a firing\n\nThe curve is smoothed over a quarter of an hour, as the relay clicks.", []string{"plot.py"}},
		{"2026-04-01", "Ida", "Add a handbook", []string{"docs/handbook.md"}},
	} {
		git(c.day, c.author, append([]string{"add"}, c.files...)...)
		git(c.day, c.author, "commit", "-q", "-m", c.message)
	}
	return dir
}
