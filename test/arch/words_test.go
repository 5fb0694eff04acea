package arch

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// mostWords is how many natural words a list may have outside the lexicon.
const mostWords = 7

// ownWords are the files that may list words, and why. A folder ends with a slash.
var ownWords = map[string]string{
	"pipeline/selection/defend/injection/": "words are features of a model: other words are another model",
	"pipeline/selection/filter/check.go":   "fields",
	"pipeline/pii/address.go":              "top-level domains",
	"pipeline/pii/secret.go":               "names in code and settings",
	"pipeline/pii/names.go":                "how letters are spelt in names",
	"pipeline/compaction/blob/":            "levels of logs and names in JSON",
	"pipeline/language/":                   "the lexicon's classes, and the suffixes of a stemmer",
	"pipeline/store/":                      "columns and fields",
	"emitters/":                            "operations and fields of requests",
	"policies/":                            "actions and reasons of policies",
	"schemas/":                             "the values of fields, labels of metrics",
	"jetstream/":                           "fields of messages, operations",
	"deploy/":                              "names in dashboards",
	"cmd/":                                 "commands, flags and files",
	"test/":                                "texts and names of tests",
}

// TestWordsAreInTheLexicon keeps lists of natural words in the files of pipeline/language/lexicon.
func TestWordsAreInTheLexicon(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(ownWords)
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			list := wordsOf(n)
			if len(list) <= mostWords {
				return true
			}
			for own := range ownWords {
				if f.name == own || strings.HasSuffix(own, "/") && strings.HasPrefix(f.name, own) {
					delete(unused, own)
					return true
				}
			}
			t.Errorf("%s: %d words (%s …) belong in a file of pipeline/language/lexicon", f.set.Position(n.Pos()), len(list), strings.Join(list[:4], " "))
			return true
		})
	}
	for own := range unused {
		t.Errorf("%s lists no words: remove it here", own)
	}
}

// wordsOf returns the natural words that a node lists: the strings of a literal, of a case, of a call, or the fields of one
// string that is nothing but words.
func wordsOf(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.CompositeLit:
		return naturalWords(n.Elts)
	case *ast.CaseClause:
		return naturalWords(n.List)
	case *ast.CallExpr:
		if list := naturalWords(n.Args); len(list) > mostWords {
			return list
		}
		if len(n.Args) == 1 && isSplit(n.Fun) {
			return slices.DeleteFunc(strings.Fields(textOf(n.Args[0])), isUnnatural)
		}
	case *ast.BasicLit:
		if text := textOf(n); strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
			return slices.DeleteFunc(strings.Fields(text), isUnnatural)
		}
		if parts := strings.FieldsFunc(textOf(n), func(r rune) bool { return strings.ContainsRune("|()?:", r) }); strings.Contains(textOf(n), "|") {
			return slices.DeleteFunc(parts, isUnnatural)
		}
	}
	return nil
}

// isSplit reports whether a function takes a text apart into words.
func isSplit(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Fields", "FieldsSeq", "Split", "SplitSeq"}, sel.Sel.Name)
}

// naturalWords are the natural words among expressions; those that are keys count, and the first strings of structs do.
func naturalWords(list []ast.Expr) (out []string) {
	for _, e := range list {
		switch pair := e.(type) {
		case *ast.KeyValueExpr:
			e = pair.Key
		case *ast.CompositeLit:
			if len(pair.Elts) > 0 {
				e = pair.Elts[0]
			}
		}
		if text := textOf(e); text != "" && !isUnnatural(text) {
			out = append(out, text)
		}
	}
	return out
}

// textOf is the text of a string, "" of anything else.
func textOf(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}

// isUnnatural reports whether a text is no word or short phrase in small letters.
func isUnnatural(text string) bool {
	return text == "" || len(strings.Fields(text)) > 4 || strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && r != ' ' && r != '\'' && r != '’' || unicode.IsUpper(r)
	})
}
