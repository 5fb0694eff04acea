package token_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"satchel/pipeline/token"
)

func counter(t testing.TB, r *token.Registry, name string) token.Counter {
	t.Helper()
	c, err := r.Counter(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The counts are those of OpenAI's cookbook, "How to count tokens with tiktoken".
func TestKnownCounts(t *testing.T) {
	t.Parallel()
	var r token.Registry
	for _, test := range []struct {
		text          string
		cl100k, o200k int
	}{
		{"", 0, 0},
		{"antidisestablishmentarianism", 6, 6},
		{"2 + 2 = 4", 7, 7},
		{"お誕生日おめでとう", 9, 8},
		{"tiktoken is great!", 6, 6},
		{"hello world", 2, 2},
	} {
		if got := counter(t, &r, "").Count(test.text); got != test.cl100k {
			t.Errorf("cl100k_base %q: %d, want %d", test.text, got, test.cl100k)
		}
		if got := counter(t, &r, "gpt-4o").Count(test.text); got != test.o200k {
			t.Errorf("o200k_base %q: %d, want %d", test.text, got, test.o200k)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var r token.Registry
	for want, names := range map[string][]string{
		token.CL100K: {"", "cl100k_base", "gpt-4", "gpt-4-turbo", "gpt-4-0613", "gpt-3.5-turbo-16k", "gpt-35-turbo",
			"text-embedding-3-small", "text-embedding-ada-002", "ft:gpt-3.5-turbo:acme::1", "GPT-4", "openai/gpt-4"},
		token.O200K: {"o200k_base", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-nano", "gpt-5", "gpt-5.2-pro", "o1",
			"o1-preview", "o3-mini", "o4-mini", "chatgpt-4o-latest", "gpt-oss-120b", "azure/gpt-4o"},
		"ascii/4+other/2": {"claude-sonnet-4", "gemini-2.5-pro", "llama3", "o100", "gpt-50", "ascii/4+other/2"},
	} {
		for _, name := range names {
			c := counter(t, &r, name)
			if c.Name() != want || token.Exact(c) != (want != "ascii/4+other/2") {
				t.Errorf("%q is counted by %s, exact %v", name, c.Name(), token.Exact(c))
			}
		}
	}
	if counter(t, &r, "gpt-4") != counter(t, &r, "") {
		t.Error("one registry loads an encoding twice")
	}
	for _, name := range []string{"a\x00b", "gpt\n4", strings.Repeat("x", 129)} {
		if _, err := token.New(name); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	c := token.Estimate{}
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "日本語文字": 8, "абв": 3, "né": 2, "\xff\xff": 1, "ab日": 2} {
		if got := c.Count(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// A text of one thing over and over takes time in proportion to its length.
func TestHugeRepetitiveText(t *testing.T) {
	t.Parallel()
	var r token.Registry
	c := counter(t, &r, "")
	for unit, size := range map[string]int{"a": 1 << 17, " ": 1 << 17, "\n": 1 << 15, " \n": 1 << 15, "\r\n\t": 1 << 15,
		"!": 1 << 15, "ab ": 1 << 15, "中": 1 << 15, "\xff": 1 << 15, "\u3000\n": 1 << 15} {
		start := time.Now()
		n := c.Count(strings.Repeat(unit, size/len(unit)))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%q takes %v", unit, took)
		}
		if n < size/200 {
			t.Errorf("%q: only %d tokens", unit, n)
		}
	}
}

// A long text has the tokens of its paragraphs: cutting between words changes nothing.
func TestLongProseIsExact(t *testing.T) {
	t.Parallel()
	var r token.Registry
	for _, name := range []string{token.CL100K, token.O200K} {
		c := counter(t, &r, name)
		line := "The quick brown fox jumps over the lazy dog while Größe wächst "
		if got, want := c.Count(strings.Repeat(line, 2000)), 2000*c.Count(line); got < want-2000 || got > want {
			t.Errorf("%s: %d tokens, one line alone has %d", name, got, c.Count(line))
		}
		whole := strings.Repeat(" word", 20_000)
		if got := c.Count(whole); got != 20_000 {
			t.Errorf("%s: %d tokens, want 20000", name, got)
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	var r token.Registry
	counters := []token.Counter{counter(t, &r, token.CL100K), counter(t, &r, token.O200K), token.Estimate{},
		token.Cached(counter(t, &r, ""), 10), plain{counter(t, &r, "")}}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(counters).Draw(t, "counter")
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-zA-Z]{1,12}[ \n.,]{1,3}|[日本語😀é]{1,4}){0,30}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		limit := rapid.IntRange(-1, 40).Draw(t, "limit")
		got := token.Truncate(c, text, limit)
		if !strings.HasPrefix(text, got) {
			t.Fatalf("%q is not a beginning of %q", got, text)
		}
		if n := c.Count(got); n > max(limit, 0) {
			t.Fatalf("%q has %d tokens, limit %d", got, n, limit)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q is cut inside a rune: %q", text, got)
		}
		if c.Count(text) <= limit && got != text {
			t.Fatalf("%q fits but became %q", text, got)
		}
	})
	c, words := counters[0], strings.Repeat("alpha beta gamma ", 30_000)
	got := token.Truncate(c, words, 1000)
	if n := c.Count(got); n < 995 || n > 1000 {
		t.Errorf("a long text keeps %d of 1000 tokens", n)
	}
}

// plain hides what its counter can do beside counting.
type plain struct{ c token.Counter }

func (p plain) Name() string          { return p.c.Name() }
func (p plain) Count(text string) int { return p.c.Count(text) }

// counting counts how often it was asked.
type counting struct {
	mu    sync.Mutex
	asked int
}

func (c *counting) Name() string { return "counting" }
func (c *counting) Count(text string) int {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	return len(text)
}

func TestCached(t *testing.T) {
	t.Parallel()
	behind := &counting{}
	c := token.Cached(behind, 64)
	for range 5 {
		for i := range 4 {
			if n := c.Count(strings.Repeat("x", i)); n != i {
				t.Errorf("count %d, want %d", n, i)
			}
		}
	}
	if behind.asked != 4 {
		t.Errorf("asked %d times for 4 texts", behind.asked)
	}
	for i := range 10_000 {
		c.Count(fmt.Sprint("filler", i))
	}
	asked := behind.asked
	c.Count("xxx")
	if behind.asked != asked+1 {
		t.Error("a text was kept beyond the limit")
	}
	if c.Name() != "counting" || token.Exact(c) {
		t.Errorf("cache over %s, exact %v", c.Name(), token.Exact(c))
	}
	if token.Cached(behind, 0) != token.Counter(behind) {
		t.Error("a cache of nothing is not the counter itself")
	}
}

func TestCachedConcurrently(t *testing.T) {
	t.Parallel()
	c := token.Cached(&counting{}, 32)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for range 5000 {
				n := rng.IntN(200)
				if got := c.Count(strings.Repeat("y", n)); got != n {
					t.Errorf("count %d, want %d", got, n)
					return
				}
			}
		}()
	}
	wg.Wait()
}

func BenchmarkCount(b *testing.B) {
	var r token.Registry
	text := strings.Repeat("Yesterday Melanie moved four databases to the new cluster. ", 4)
	for name, c := range map[string]token.Counter{"cl100k": counter(b, &r, ""), "o200k": counter(b, &r, "gpt-4o"), "cached": token.Cached(counter(b, &r, ""), 100)} {
		c.Count(text)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.Count(text)
			}
		})
	}
}

// One counter serves many goroutines, from the first count on.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	var r token.Registry
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := r.Counter("gpt-4")
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				if n := c.Count("tiktoken is great!"); n != 6 {
					t.Errorf("%d tokens", n)
				}
				if s := token.Truncate(c, "2 + 2 = 4", 3); s != "2 +" && s != "2 + " {
					t.Errorf("truncated to %q", s)
				}
			}
		}()
	}
	wg.Wait()
}

func FuzzTruncate(f *testing.F) {
	f.Add("お誕生日おめでとう", 3)
	f.Add(" \n \n x", 2)
	var r token.Registry
	c := counter(f, &r, "")
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit %= 1000
		got := token.Truncate(c, text, limit)
		if n := c.Count(got); n > max(limit, 0) || !strings.HasPrefix(text, got) {
			t.Fatalf("%q at %d: %q has %d tokens", text, limit, got, n)
		}
	})
}
