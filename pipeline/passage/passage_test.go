package passage

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// item returns a candidate that a question found.
func item(t testing.TB, id string, kind schemas.Kind, text string, attributes map[string]any) candidate.Candidate {
	t.Helper()
	raw, err := json.Marshal(attributes)
	if err != nil {
		t.Fatal(err)
	}
	v := &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: id, Kind: kind, Content: schemas.TextContent(text), Attributes: raw}}
	return candidate.New(v, schemas.Verdict{Allow: true})
}

func system(t testing.TB) scope.Scope {
	t.Helper()
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reader(t testing.TB, c Config) *Reader {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func measure(c *candidate.Candidate) int {
	return token.Estimate{}.Count(c.Quote.Head + c.Quote.Signature + c.Quote.Comment + c.Content.Text())
}

// choose asks a question of candidates.
func choose(t testing.TB, r *Reader, question string, budget int, cs []candidate.Candidate) {
	t.Helper()
	r.Score(context.Background(), system(t), Query{Text: question}, cs).
		Choose(cs, Options{Budget: budget, Counter: token.Estimate{}, Measure: measure})
}

const queueConfig = `type QueueConfig struct {
	// FetchCooldown is the time that must pass between two fetches of jobs from the database.
	// It keeps a busy worker from asking again and again for what is not there yet.
	FetchCooldown time.Duration

	// MaxWorkers is how many workers a queue may have at the same time. The number is between
	// one and ten thousand; a larger one is refused when the client begins.
	MaxWorkers int

	// Pollers is how many goroutines look for jobs that nobody announced. They look once in the
	// interval that is set for the whole client, each a little later than the other.
	Pollers int

	// Name is what the queue is called in the database, in metrics and in the log lines of the
	// client. It has letters, digits, dashes and underscores alone.
	Name string
}`

func TestThePassageThatAnswersIsShown(t *testing.T) {
	t.Parallel()
	config := item(t, "q", schemas.KindCode, queueConfig, map[string]any{
		"file_path": "client.go", "start_line": 642, "qualified_name": "river.QueueConfig",
		"signature": "type QueueConfig struct", "docstring": "QueueConfig is how a queue is worked.",
	})
	later := []candidate.Candidate{config}
	choose(t, reader(t, Config{}), "which goroutines look for jobs that nobody announced?", 170, later)
	if q := later[0].Quote; q.Head != "client.go:642" || q.Signature != "type QueueConfig struct" {
		t.Errorf("a later part stands behind %+v", q)
	}
	cs := []candidate.Candidate{config}
	choose(t, reader(t, Config{}), "how many workers may a queue have?", 170, cs)
	c := &cs[0]
	if !c.Kept() || c.Extract == nil || c.Quote == nil {
		t.Fatalf("not shown in part: %+v", c)
	}
	text := c.Content.Text()
	if !strings.Contains(text, "ten thousand") || strings.Contains(text, "Pollers") {
		t.Errorf("it shows\n%s", text)
	}
	if c.Quote.Head != "client.go:642" {
		t.Errorf("head %q", c.Quote.Head)
	}
	for _, l := range c.Extract.Lines {
		if !strings.Contains(text, queueConfig[l.Span.Start:l.Span.End]) {
			t.Errorf("span %v is not shown", l.Span)
		}
	}
}

func TestHeadsSayWhereItStands(t *testing.T) {
	t.Parallel()
	doc := item(t, "d", schemas.KindKnowledge, "Changelog › 0.40.0\n- Fixed the producer. Its keep alive is later.", map[string]any{"line": 61})
	doc.Visible.Provenance.SourceURI = "file:kiln/CHANGELOG.md#0400"
	masked := item(t, "m", schemas.KindCommit, "[redacted]\n\nThe kiln was moved.", map[string]any{"sha": "e8d659c3aa", "author": "Ida Ahn"})
	masked.Masked = true
	sourced := item(t, "s", schemas.KindCommit, "[redacted]\n\nThe kiln was moved.", map[string]any{"sha": "e8d659c3aa", "author": "Ida Ahn"})
	sourced.Masked, sourced.CreatedAt = true, time.Date(2026, 7, 22, 10, 0, 0, 0, time.UTC)
	sourced.Provenance.SourceURI = "git:kiln@e8d659c3aa01"
	code := item(t, "mc", schemas.KindCode, "password := [secret]", map[string]any{"file_path": "s3cret.go", "start_line": 7})
	code.Masked, code.Provenance.SourceURI = true, "file:kiln/fire.go:7"
	redacted := item(t, "rc", schemas.KindCode, "password := [secret]", map[string]any{"file_path": "s3cret.go"})
	redacted.Masked, redacted.Verdict.Redact, redacted.Provenance.SourceURI = true, true, "file:kiln/fire.go:7"
	for _, x := range []struct {
		c    candidate.Candidate
		want string
	}{
		{item(t, "c", schemas.KindCommit, "Update producer\n\nIt was slow.", map[string]any{
			"sha": "e8d659c3aa01", "author": "Ida Ahn", "timestamp": "2026-07-22T10:00:00Z",
		}), "commit e8d659c3 2026-07-22 Ida Ahn:"},
		{doc, "kiln/CHANGELOG.md:61 ›"},
		{masked, "commit:"},
		{sourced, "commit e8d659c3 2026-07-22 Ida Ahn:"},
		{item(t, "l", schemas.KindCommit, "Update producer", map[string]any{
			"sha": "e8d659c3aa01", "author": "Ida Ahn", "date": "2026-07-22", "committed": "2026-07-25", "timestamp": "2026-07-22T10:00:00Z",
		}), "commit e8d659c3 2026-07-22 Ida Ahn, committed 2026-07-25:"},
		{code, "kiln/fire.go:7"},
		{redacted, ""},
		{item(t, "f", schemas.KindCode, "func Fire() {}", map[string]any{"file_path": "kiln.go", "start_line": 7, "signature": "func Fire()"}), "kiln.go:7"},
	} {
		cs := []candidate.Candidate{x.c}
		choose(t, reader(t, Config{}), "what of the kiln and its producer?", 400, cs)
		if cs[0].Quote == nil || cs[0].Quote.Head != x.want {
			t.Errorf("%s: %+v, want head %q", x.c.ID, cs[0].Quote, x.want)
		}
		if cs[0].Extract != nil {
			t.Errorf("%s: all of it fits, and a part is shown", x.c.ID)
		}
	}
}

func TestConversationsAreNotCut(t *testing.T) {
	t.Parallel()
	turn := item(t, "t", schemas.KindMemory, strings.Repeat("the kiln is fired on Mondays. ", 60), nil)
	turn.Visible.Session, turn.Visible.Speaker = "s1", "Ida"
	note := item(t, "n", schemas.KindKnowledge, "The kiln is fired on Mondays.", nil)
	cs := []candidate.Candidate{turn, note}
	choose(t, reader(t, Config{}), "when is the kiln fired?", 20, cs)
	for i := range cs {
		if !cs[i].Kept() || cs[i].Quote != nil || cs[i].Extract != nil {
			t.Errorf("%s is %+v", cs[i].ID, cs[i])
		}
	}
}

func TestACommitAnswersWhoMadeIt(t *testing.T) {
	t.Parallel()
	var cs []candidate.Candidate
	for i := range 8 {
		cs = append(cs, item(t, fmt.Sprint("code", i), schemas.KindCode, fmt.Sprintf("func FireKiln%d() error { return kiln.Fire(%d) }", i, i), nil))
	}
	cs = append(cs, item(t, "commit", schemas.KindCommit, "Fire the kiln at night", map[string]any{"author": "Ida", "sha": "e8d659c3aa01"}))
	choose(t, reader(t, Config{}), "who introduced that the kiln is fired at night?", 30, cs)
	if !cs[8].Kept() {
		t.Error("the commit is left out")
	}
}

// TestFloorsHoldForAKind has code that answers better and takes all, and commits that have a floor; and a
// floor of documents, of which there are none.
func TestFloorsHoldForAKind(t *testing.T) {
	t.Parallel()
	of := func(floors map[schemas.Kind]int) (code, commits int) {
		var cs []candidate.Candidate
		for i := range 12 {
			cs = append(cs, item(t, fmt.Sprint("code", i), schemas.KindCode, fmt.Sprintf("func FireKiln%d() error { return kiln.Fire(%d) }", i, i), nil),
				item(t, fmt.Sprint("commit", i), schemas.KindCommit, fmt.Sprintf("Sweep hall %d\n\nThe kiln stood in the way of the broom.", i), nil))
		}
		reader(t, Config{}).Score(context.Background(), system(t), Query{Text: "what fires the kiln?"}, cs).
			Choose(cs, Options{Budget: 200, Counter: token.Estimate{}, Measure: measure, Floors: floors})
		for i := range cs {
			switch c := &cs[i]; {
			case !c.Kept():
			case c.Kind == schemas.KindCode:
				code += measure(c)
			default:
				commits += measure(c)
			}
		}
		return code, commits
	}
	if _, commits := of(nil); commits >= 80 {
		t.Fatalf("commits have %d tokens without a floor: this proves nothing", commits)
	}
	if code, commits := of(map[schemas.Kind]int{schemas.KindCommit: 80, schemas.KindKnowledge: 100}); commits < 60 || code < 60 || code+commits > 200 {
		t.Errorf("code has %d tokens, commits %d", code, commits)
	}
}

// Passages end where the next is worth too little beside the best, and what has none is said to be worth less. With floors the
// best of each kind counts.
func TestPassagesEnd(t *testing.T) {
	t.Parallel()
	of := func(farther float64, floors map[schemas.Kind]int) (kept map[schemas.Kind]int, less int) {
		cs := []candidate.Candidate{item(t, "fires", schemas.KindCode, "func FireKiln() error { return kiln.Fire(beech) }", nil)}
		for i := range 12 {
			cs = append(cs, item(t, fmt.Sprint("commit", i), schemas.KindCommit, fmt.Sprintf("Sweep hall %d\n\nThe broom is new.", i), nil))
		}
		reader(t, Config{}).Score(context.Background(), system(t), Query{Text: "which wood, beech, does FireKiln fire?"}, cs).
			Choose(cs, Options{Budget: 2000, Farther: farther, Counter: token.Estimate{}, Measure: measure, Floors: floors})
		kept = map[schemas.Kind]int{}
		for i := range cs {
			if cs[i].Kept() {
				kept[cs[i].Kind]++
			} else if cs[i].Drop == schemas.DropRank && cs[i].Detail == candidate.WorthLess {
				less++
			}
		}
		return kept, less
	}
	floors := map[schemas.Kind]int{schemas.KindCommit: 200}
	for name, c := range map[string]struct {
		farther             float64
		floors              map[schemas.Kind]int
		code, commits, less int
	}{"to the end": {0, nil, 1, 12, 0}, "near the best": {1, nil, 1, 0, 12}, "near the best of each kind": {1, floors, 1, 12, 0}} {
		if kept, less := of(c.farther, c.floors); kept[schemas.KindCode] != c.code || kept[schemas.KindCommit] != c.commits || less != c.less {
			t.Errorf("%s: %v kept, %d worth less", name, kept, less)
		}
	}
}

// Whatever an item is, its passages lie in it, in order, and leave nothing out but blanks.
func TestPassagesMakeUpTheItem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringN(0, 90, 400), rapid.SampledFrom([]string{"", "- an entry", "```", "// a comment", "\tx := 1", "ü — ñ", strings.Repeat("word ", 300)}))
		text := strings.ToValidUTF8(strings.Join(rapid.SliceOfN(line, 1, 40).Draw(t, "lines"), "\n"), "?")
		kind := rapid.SampledFrom([]schemas.Kind{schemas.KindCode, schemas.KindCommit, schemas.KindKnowledge}).Draw(t, "kind")
		v := &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: "x", Kind: kind, Content: schemas.TextContent(text)}}
		c := candidate.New(v, schemas.Verdict{Allow: true})
		s := sourceOf(&c)
		at := s.title
		for _, p := range s.splitParts(text) {
			if p.span.Start < at && p.span.Start > 0 || p.span.End < p.span.Start || p.span.End > len(text) {
				t.Fatalf("span %v after %d of %d", p.span, at, len(text))
			}
			if p.span.Start > at && strings.TrimSpace(text[at:p.span.Start]) != "" {
				t.Fatalf("%q is in no passage", text[at:p.span.Start])
			}
			for _, end := range []int{p.span.Start, p.span.End} {
				if end < len(text) && !utf8.RuneStart(text[end]) {
					t.Fatalf("span %v cuts a character", p.span)
				}
			}
			at = max(at, p.span.End)
		}
		if rest := strings.TrimSpace(text[at:]); rest != "" {
			t.Fatalf("%q is in no passage", rest)
		}
	})
}

// A choice keeps to its budget, and a larger one leaves out no passage that a smaller one has
// for more than the room that its neighbours take.
func TestChoiceKeepsToItsBudget(t *testing.T) {
	t.Parallel()
	r := reader(t, Config{})
	rapid.Check(t, func(rt *rapid.T) {
		var cs []candidate.Candidate
		for i := range rapid.IntRange(1, 12).Draw(rt, "items") {
			kind := rapid.SampledFrom([]schemas.Kind{schemas.KindCode, schemas.KindCommit}).Draw(rt, "kind")
			paragraph := rapid.SampledFrom([]string{"the kiln is fired", "beech wood burns", "a ferry leaves\nat noon", strings.Repeat("clay dries slowly ", 30)})
			cs = append(cs, item(t, fmt.Sprint("i", i), kind, strings.Join(rapid.SliceOfN(paragraph, 1, 9).Draw(rt, "text"), "\n\n"), nil))
		}
		budget := rapid.IntRange(10, 600).Draw(rt, "budget")
		again := slices.Clone(cs)
		choose(t, r, "which wood is fired in the kiln?", budget, cs)
		total := 0
		for i := range cs {
			if cs[i].Kept() {
				total += measure(&cs[i])
			}
		}
		if total > budget {
			rt.Errorf("%d tokens of %d", total, budget)
		}
		choose(t, reader(t, Config{}), "which wood is fired in the kiln?", budget, again)
		for i := range cs {
			if cs[i].Kept() != again[i].Kept() || cs[i].Content.Text() != again[i].Content.Text() {
				rt.Errorf("%s: another choice from the same input", cs[i].ID)
			}
		}
	})
}

func TestCuesOfAFile(t *testing.T) {
	t.Parallel()
	own, err := ParseCues([]byte("language: de\nstop: wer was\ncues:\n- {name: history, question: 'wer hat', kinds: [commit], weight: .8}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(own.findCues("Wer hat das geändert?")); n != 1 || len(own.findCues("who changed it?")) != 0 {
		t.Errorf("%d cues", n)
	}
	for _, bad := range []string{"cues: [{name: a}]", "cues: [{name: a, question: '('}]", "cues: [{name: a, question: b, kinds: [lore]}]", "other: 1"} {
		if _, err := ParseCues([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// What has hardly a word of its own gives way to what says something, however well it matches.
func TestAddressesAloneComeLast(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The kiln is fired at night because beech is dry then. ", 12)
	const address = "[1] https://example.org/kilns/4711/fired-at-night"
	cs := []candidate.Candidate{item(t, "c", schemas.KindCommit, "Fire the kiln at night\n\n"+address+"\n\n"+long, nil)}
	r := reader(t, Config{})
	ranking := r.Score(context.Background(), system(t), Query{Text: "why is the kiln fired at night?"}, cs)
	if len(ranking.list) != 1 || len(ranking.rest) != 1 {
		t.Fatalf("%d passages are scored and %d are not", len(ranking.list), len(ranking.rest))
	}
	alone := []candidate.Candidate{item(t, "c", schemas.KindCommit, "Fire the kiln at night\n\n"+address, nil)}
	choose(t, r, "why is the kiln fired at night?", 100, alone)
	if !strings.Contains(alone[0].Content.Text(), address) {
		t.Error("an item that has nothing else is not shown")
	}
	heading := []candidate.Candidate{item(t, "h", schemas.KindKnowledge, "Kiln › Fired at night, and why\neg:", map[string]any{"heading": "Fired at night, and why"})}
	heading[0].Visible.Provenance.SourceURI = "file:kiln/README.md#fired"
	if ranking := r.Score(context.Background(), system(t), Query{Text: "why is the kiln fired at night?"}, heading); len(ranking.list) != 0 {
		t.Error("a heading without a text is scored")
	}
}

// The numbers of the standings stay, and the item with the best passage has the highest.
func TestStandingsGoByPassages(t *testing.T) {
	t.Parallel()
	cs := []candidate.Candidate{
		item(t, "other", schemas.KindCode, "func Ferry() int { return noon }", nil),
		item(t, "answer", schemas.KindCode, "func FireKiln() error { return beech.Burn() }", nil),
	}
	cs[0].Standing, cs[1].Standing = .9, .2
	choose(t, reader(t, Config{}), "which wood is burnt when the kiln is fired?", 200, cs)
	if cs[0].Standing != .2 || cs[1].Standing != .9 {
		t.Errorf("standings %v and %v", cs[0].Standing, cs[1].Standing)
	}
}

// Where the asker expects the answer, passages stand higher, and the others are not left out.
func TestAPreferredKindStandsHigher(t *testing.T) {
	t.Parallel()
	const text = "The kiln waits an hour before it is opened again."
	cs := []candidate.Candidate{item(t, "code", schemas.KindCode, text, nil), item(t, "commit", schemas.KindCommit, text, nil),
		item(t, "doc", schemas.KindKnowledge, text, map[string]any{"heading": "Kiln"})}
	cs[2].Visible.Provenance.SourceURI = "file:///kiln.md"
	r := reader(t, Config{})
	scores := func(q Query) map[int]float64 {
		out := map[int]float64{}
		for _, one := range r.Score(context.Background(), system(t), q, cs).list {
			out[one.at] = one.score
		}
		return out
	}
	before := scores(Query{Text: "how long does the kiln wait?"})
	for i, p := range []schemas.Preference{schemas.PreferCode, schemas.PreferHistory, schemas.PreferDocs} {
		after := scores(Query{Text: "how long does the kiln wait?", Prefer: p.Kinds()})
		for at := range cs {
			if raised := after[at] - before[at]; len(after) != len(cs) || math.Abs(raised-map[bool]float64{true: preferred}[at == i]) > .1 {
				t.Errorf("prefer %s: %s is raised by %.2f", p, cs[at].ID, raised)
			}
		}
	}
}

// What is measured while passages are chosen grows as the item does, however much of it the budget pays for.
func TestMeasuringGrowsWithTheItem(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"*", "a", "kiln fire. "} {
		read := func(n int) (bytes int) {
			cs := []candidate.Candidate{item(t, "long", schemas.KindKnowledge, "# kiln\n\n"+strings.Repeat(letter, n/len(letter)), nil)}
			reader(t, Config{}).Score(context.Background(), system(t), Query{Text: "what fires the kiln?"}, cs).
				Choose(cs, Options{Budget: 60_000, Counter: token.Estimate{}, Measure: func(c *candidate.Candidate) int {
					bytes += len(c.Content.Text())
					return measure(c)
				}})
			return bytes
		}
		one, two := read(40_000), read(80_000)
		if one == 0 || float64(two) > 2.5*float64(one) {
			t.Errorf("%q: %d bytes are measured of 40 kB, %d of 80 kB", letter, one, two)
		}
	}
}
