package language_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/language"
)

func TestBlocks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The kiln burns beech from the hill behind the ferry. ", 6)
	for name, x := range map[string]struct {
		text     string
		document bool
		want     []string
	}{
		"short paragraphs": {"one\n\ntwo", true, []string{"one\n\ntwo"}},
		"long paragraphs":  {long + "\n\n" + long, true, []string{strings.TrimSpace(long), strings.TrimSpace(long)}},
		"entries":          {"- " + long + "\n- " + long, true, []string{"- " + strings.TrimSpace(long), "- " + strings.TrimSpace(long)}},
		"no entries":       {"- " + long + "\n- " + long, false, []string{"- " + long + "\n- " + strings.TrimSpace(long)}},
		"fence in a list":  {"- ```sh\n  " + long + "\n\n  " + long + "\n  ```\n\n" + strings.TrimSpace(long), true, []string{"- ```sh\n  " + long + "\n\n  " + long + "\n  ```", strings.TrimSpace(long)}},
		"fence in a fence": {"````\n" + long + "\n```\n\n~~~\n" + long + "\n````", true, []string{"````\n" + long + "\n```\n\n~~~\n" + long + "\n````"}},
		"fence":            {"```\n" + long + "\n\n" + long + "\n```", true, []string{"```\n" + long + "\n\n" + long + "\n```"}},
	} {
		var got []string
		for _, s := range language.Blocks(x.text, 0, x.document) {
			got = append(got, x.text[s.Start:s.End])
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheEndOfALineIsNoBlock(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("The kiln burns beech from the hill behind the ferry. ", 20) + "PR #590."
	for _, s := range language.Blocks(text, 0, true) {
		if s.End-s.Start <= 100 {
			t.Errorf("a block is %q", text[s.Start:s.End])
		}
	}
}
