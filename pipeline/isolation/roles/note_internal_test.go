package roles

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPartsOf takes notes apart: each part with what it stands under.
func TestPartsOf(t *testing.T) {
	t.Parallel()
	const long = " The rest of the note goes on for a while, so that it is a long one and may have a title, which short notes have not. It says nothing else that anybody could ask about, and it ends only when it is long enough for that, which is here and no earlier."
	for text, want := range map[string][][2]string{
		"": nil,
		"# Weekly\n\n## B40\n- Launch is in May. Ruth plans it.\n\n**Lab.** The chamber came.\n**What happened.** It rattled.\n**The deadline is 5 May.**": {
			{"Weekly B40", "Launch is in May. Ruth plans it."}, {"Weekly Lab", "The chamber came."}, {"Weekly What happened", "It rattled."}, {"Weekly What happened", "**The deadline is 5 May.**"}},
		"So… we moved to Lyon. It rains. … ## Next\n… We stay.": {{"", "So… we moved to Lyon."}, {"", "It rains."}, {"Next", "We stay."}},
		"Open points:\n1. The roof\n2. The door":                {{"Open points", "The roof"}, {"Open points", "The door"}},
		"```\nx := 1\n```\nIt runs.":                            {{"", "It runs."}},
		"Call with the roofer, 3 May. He comes in June.":        {{"", "Call with the roofer, 3 May."}, {"", "He comes in June."}},
		"- \n-\n* a": {{"", "-"}, {"", "-"}, {"", "a"}},
	} {
		var got [][2]string
		for _, p := range partsOf(text) {
			got = append(got, [2]string{p.heading, text[p.span.Start:p.span.End]})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for first, title := range map[string]bool{"Call with the roofer, 3 May.": true, "Incident review, web shop outage of 27 January 2026.": true, "Minutes of the committee, 4 March 2026.": true,
		"Call Anna on Monday.": false, "Second call with Halvorsen: Petra agreed to ten percent.": false, "Kessler raises prices from 1 May.": false} {
		if parts := partsOf(first + long); (parts[0].heading != "") != title {
			t.Errorf("%q is a title: %t; %+v", first, parts[0].heading != "", parts[0])
		}
	}
}
