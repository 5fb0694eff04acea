package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

// A name is found as people write it, whatever signs it has, before items with the bare letters; and in a
// script that the lexicon does not read nothing fills up the reply.
func TestNamesAreFound(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var lines strings.Builder
	for id, text := range map[string]string{
		"cpp": "Jana writes the firmware in C++17 since spring.", "cs": "Omar builds the desktop client in C#, as always.",
		"fs": "Priya models prices in F#.", "net": "The billing service runs on .NET 8.", "c": "The band plays in C and F minor, then in D.",
		"fishing": "The net of the fisher has a hole.", "python": "Lea writes the importer in Python.",
		"vitamin": "The doctor gave her vitamin B-12 in April.", "b6": "Vitamin B6 is in the blue box.", "seat": "The seat 12 B is by the window.",
		"flight": "The ticket of Sean O'Brien is in the drawer.", "brian": "Brian keeps the tickets.",
		"v100": "The release 1.0.0 brought the new parser.", "v101": "The release 1.0.1 brought the new lexer.", "v010": "The release 0.1.0 brought the first parser.",
		"sku": "The drill AB-1234-X costs 80 EUR.", "sku2": "The drill AB-1243-X costs 90 EUR.", "soft": "softLogout keeps the cookie.",
		"server": "HTTPServer handles parseHTMLResponse.", "dog": "Собака Марины боится грозы.", "hi": "मीरा का कुत्ता आँधी से डरता है।",
	} {
		fmt.Fprintf(&lines, `{"id":%q,"content":%q}`+"\n", id, text)
	}
	for i := range 300 {
		fmt.Fprintf(&lines, `{"id":"n%d","content":"The meeting %d of group C was about room %d, release plans and prices."}`+"\n", i, i, 12+i)
	}
	n.must(t, "import", folder(t, map[string]string{"m.jsonl": lines.String()})+"/m.jsonl")
	for question, want := range map[string][]string{
		"C# or C++?": {"cpp", "cs"}, "who writes C++?": {"cpp"}, "who builds in C#?": {"cs"}, "C#": {"cs"}, "c++": {"cpp"}, "F#": {"fs"}, "what runs on .NET?": {"net"},
		"when did she get B12?": {"vitamin"}, "B-12": {"vitamin"}, "vitamin B-6": {"b6"},
		"OBrien": {"flight"}, "where is the ticket of O’Brien?": {"flight"}, "what changed in version 1.0.0?": {"v100"}, "v1.0.1": {"v101"},
		"how much is AB1234X?": {"sku"}, "AB-1243-X": {"sku2"}, "soft logout": {"soft"}, "http server": {"server"}, "parse html": {"server"},
		"чего боится собака?": {"dog"}, "कुत्ता किससे डरता है?": {"hi"},
	} {
		var found []string
		for _, r := range mustJSON[schemas.SearchReply](t, n, "search", question).Results {
			found = append(found, r.Memory.ID)
		}
		first := slices.Clone(found[:min(len(want), len(found))])
		if slices.Sort(first); !slices.Equal(first, want) {
			t.Errorf("%q: %v, want %v first", question, found, want)
		}
		if others := len(found) - len(want); question[0] >= 0x80 && others > 0 {
			t.Errorf("%q: %d others: %v", question, others, found)
		}
	}
}
