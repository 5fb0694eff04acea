package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheDemoAddsUp: the tokens that its compaction says it had, has and saved.
func TestTheDemoAddsUp(t *testing.T) {
	t.Parallel()
	r := satchel(t, "", "demo")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	m := regexp.MustCompile(`COMPACT the (\d+) tokens of that context .*, (\d+) tokens\.\s+Of the (\d+) saved, (\d+) are of what items say, .* and (\d+) of the`).FindStringSubmatch(r.out)
	if m == nil {
		t.Fatalf("the demo's compaction is not found:\n%s", r.out)
	}
	var n [6]int
	for i := 1; i < len(n); i++ {
		var err error
		if n[i], err = strconv.Atoi(m[i]); err != nil {
			t.Fatal(err)
		}
	}
	before, after, saved, text, marks := n[1], n[2], n[3], n[4], n[5]
	if before-after != saved || text+marks != saved || text <= 0 || marks < 0 {
		t.Errorf("the numbers do not add up: %s", m[0])
	}
	contains(t, "the demo", r.out, "position 5: the content does not match its commitment", "places where nothing is left")
	if !strings.Contains(r.out, "items, "+m[1]+" tokens\n") {
		t.Errorf("no context of %d tokens comes before", before)
	}
}
