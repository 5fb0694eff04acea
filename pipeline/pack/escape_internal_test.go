package pack

import (
	"strings"
	"testing"
	"unicode"

	"satchel/pipeline/language"
)

// Neither a list mark nor a character drawn over nothing keeps a line of an item from
// looking like a heading of the pack.
func TestHeadingsInDisguise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- ## Safety":               "\\- ## Safety",
		"a\n- ## Safety":            "a\n\\- ## Safety",
		"a\n* - # Safety":           "a\n\\* - # Safety",
		"a\n12. ## Safety":          "a\n\\12. ## Safety",
		"a\n- ```":                  "a\n\\- ```",
		"\u0301## Safety":           "\\\u0301## Safety",
		"a\n\u0301## Safety":        "a\n\\\u0301## Safety",
		"a\n\u0301\u200b## Safety":  "a\n\\\u0301\u200b## Safety",
		"a\n\u20dd [2] b":           "a\n\\\u20dd [2] b",
		"- [ ] one\n- two\n3. four": "- [ ] one\n- two\n3. four",
		"e\u0301t\u00e9\n#x":        "e\u0301t\u00e9\n\\#x",
		"- #12 is fixed":            "- #12 is fixed",
		"\u0301":                    "\u0301",
		"12":                        "12",
		"a\n【7】 Mara":               "a\n\\【7】 Mara",
		"⟦9⟧ Mara":                  "\\⟦9⟧ Mara",
		"a\n「7」 Mara":               "a\n「7」 Mara",
		"a\n-":                      "a\n\\-",
		"a\n31 February 2026:":      "a\n\\31 February 2026:",
		"a\n3 January 2026 :\u0301": "a\n\\3 January 2026 :\u0301",
		"a\n- 3 January:":           "a\n\\- 3 January:",
		"a\n- > ## Safety":          "a\n\\- > ## Safety",
		"a\n3 January: rain":        "a\n3 January: rain",
		"a\n\U0001d159## Safety":    "a\n\\## Safety",
	} {
		if got := sanitiseText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, mark := range []string{"\u0301" + strings.Repeat("\u200b", 90), strings.Repeat("\u0301", 200), strings.Repeat("\u0301\u200d", 200)} {
		for _, line := range []string{"# Memory", "[7] Mara"} {
			if text, want := "a\n"+mark+line, "a\n\\"+mark+line; sanitiseText(text) != want {
				t.Errorf("%d bytes before %q keep it as it is", len(mark), line)
			}
		}
	}
}

// What is left out of a text joins no backquotes to the fence that it stands in.
func TestAFenceIsLongerThanWhatIsShown(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"\x00", "\x1b", "\u202e", "\u2066", "\ufeff", "\ufffd", "\U000e0041", "\x80"} {
		if got, want := fenceText("a", "x\n``"+hidden+"`\n## Safety"), "a\n````\nx\n```\n## Safety\n````"; got != want {
			t.Errorf("%q: %q, want %q", hidden, got, want)
		}
	}
}

// What mayOpen says no to, a letter however it is written, begins nothing that looks like structure.
func TestWhatBeginsNoStructure(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		if mayOpen(string(r)) || isBlankRune(r) {
			continue
		}
		for _, rest := range []string{"", "# x", " # x", "January:", ". [1] x", ". # x", "1] x", "``` x", ") [1] x"} {
			if like := language.Visible(string(r) + rest); isStructureStart(like) || isStructural(like) {
				t.Errorf("%U and %q look like structure", r, rest)
			}
		}
	}
}

// A block of code in a document stays as it is; nothing in it ends its fence, and an open one is no block.
func TestCodeInADocumentRuns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Clear it:\n```bash\n# Delete all\nmem delete --all\n```\n# Next":          "Clear it:\n```bash\n# Delete all\nmem delete --all\n```\n\\# Next",
		"```python\nif x:\n    y()\n\n```":                                         "```python\nif x:\n    y()\n```",
		"a\n~~~\nx\n```\n## Safety\n~~~":                                           "a\n````\nx\n```\n## Safety\n````",
		"a\n````md\n```\n[7] Mara\n```\n````\n[8] b":                               "a\n````md\n```\n[7] Mara\n```\n````\n\\[8] b",
		"```\nx\n```\n7 March:\n=====\n> y":                                        "```\nx\n```\n\\7 March:\n\\=====\n\\> y",
		"1. Run:\n\n    ```sh\n    if x; then\n      # y\n    fi\n    ```\n2. # z": "1. Run:\n```sh\nif x; then\n  # y\nfi\n```\n\\2. # z",
		"- ```sh\n  # x\n  ```\n  # y\n1. - ~~~\n     z\n     ~~~\n# w":            "```sh\n# x\n```\n\\# y\n```\nz\n```\n\\# w",
		"```\n- ```\nx\n```":                                                       "````\n- ```\nx\n````",
		"a\n```\n# open":                                                           "a\n\\```\n\\# open",
		"a\n```js [7] x\n1\n```":                                                   "a\n```js\n1\n```",
	} {
		if got := withCode(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// No prose behind a block of code, and none behind what a terminal hides, names a writer as the pack does.
func TestNoProseNamesAWriter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n```\nf(x)\n```\nCarol (written by boss): b": "a\n```\nf(x)\n```\nCarol \\(written by boss): b",
		"Carol (wri\x1b[0mtten by boss): b":             `Carol \(written by boss): b`,
	} {
		if got := withCode(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
