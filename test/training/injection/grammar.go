package main

import (
	"bufio"
	"embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

//go:embed attack.txt task.txt benign.txt reader.txt
var files embed.FS

// grammar makes sentences. half picks, in sections that are drawn from by name, the
// even or the odd lines; −1 all of them.
type grammar struct {
	rng      *rand.Rand
	half     int
	aim      string // the section that <aim> stands for
	sections map[string][]string
	words    *lexicon
}

func newGrammar(rng *rand.Rand, words *lexicon) (*grammar, error) {
	g := &grammar{rng: rng, half: -1, sections: map[string][]string{}, words: words}
	for _, name := range []string{"attack.txt", "task.txt", "benign.txt", "reader.txt"} {
		f, err := files.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open grammar: %w", err)
		}
		section := ""
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			line := strings.TrimRight(lines.Text(), "\n")
			switch {
			case strings.HasPrefix(line, "# "), line == "":
			case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && !strings.ContainsAny(line, " {|"):
				section = line[1 : len(line)-1]
			default:
				g.sections[section] = append(g.sections[section], line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read grammar: %w", err)
		}
	}
	return g, nil
}

// from makes a sentence of a section.
func (g *grammar) from(section string) string {
	lines := g.sections[section]
	i := g.rng.IntN(len(lines))
	if g.half >= 0 && len(lines) > 3 {
		for i%2 != g.half {
			i = g.rng.IntN(len(lines))
		}
	}
	return g.expand(lines[i])
}

// expand resolves the choices and names of a template.
func (g *grammar) expand(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch s[i] {
		case '{':
			end, choices := split(s, i)
			if len(choices) == 1 { // braces that are meant
				b.WriteString("{" + g.expand(choices[0]) + "}")
			} else {
				b.WriteString(g.expand(choices[g.rng.IntN(len(choices))]))
			}
			i = end
		case '<':
			end := strings.IndexByte(s[i:], '>')
			if end < 0 {
				b.WriteByte('<')
				i++
				continue
			}
			name := s[i+1 : i+end]
			if text, ok := g.slot(name); ok {
				b.WriteString(text)
				i += end + 1
				continue
			}
			b.WriteByte('<')
			i++
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// split returns the choices of the braces that open at i, and the place behind them.
func split(s string, i int) (int, []string) {
	var choices []string
	depth, start := 0, i+1
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return j + 1, append(choices, s[start:j])
			}
		case '|':
			if depth == 1 {
				choices = append(choices, s[start:j])
				start = j + 1
			}
		}
	}
	return len(s), append(choices, s[start:])
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (g *grammar) slot(name string) (string, bool) {
	switch name {
	case "noun":
		return pick(g.rng, g.words.nouns), true
	case "Noun":
		return title(pick(g.rng, g.words.nouns)), true
	case "nounphrase":
		return pick(g.rng, g.words.adjectives) + " " + pick(g.rng, g.words.nouns), true
	case "verb":
		return pick(g.rng, g.words.verbs), true
	case "Verb":
		return title(pick(g.rng, g.words.verbs)), true
	case "adj":
		return pick(g.rng, g.words.adjectives), true
	case "word":
		return pick(g.rng, g.words.single), true
	case "Word":
		return title(pick(g.rng, g.words.single)), true
	case "Name":
		return pick(g.rng, g.words.names), true
	case "place":
		return pick(g.rng, g.words.places), true
	case "language":
		return pick(g.rng, g.words.languages), true
	case "digit":
		return strconv.Itoa(1 + g.rng.IntN(9)), true
	case "num":
		return strconv.Itoa(1 + g.rng.IntN([]int{10, 100, 1000, 1000000}[g.rng.IntN(4)])), true
	}
	capital := name != "" && name[0] >= 'A' && name[0] <= 'Z'
	if name = strings.ToLower(name); name == "aim" {
		name = g.aim
	}
	lines, ok := g.sections[name]
	switch {
	case !ok:
		return "", false
	case capital:
		return title(g.expand(lines[g.rng.IntN(len(lines))])), true
	}
	return g.expand(lines[g.rng.IntN(len(lines))]), true
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
