package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// lexicon fills the slots of the grammar.
type lexicon struct {
	nouns, verbs, adjectives, single, names, places, languages []string
}

// texts are written by people, from packages whose licence allows it.
type texts struct {
	turns    []string // of chats
	prose    []string // paragraphs of documentation
	glosses  []string
	comments []string
	code     []string // functions
	manuals  []string // sections of technical documentation
}

const (
	names     = "Anna Ben Clara David Emma Felix Grace Henry Iris Jack Kate Leo Maria Noah Olivia Paul Quinn Rosa Sam Tina Victor Wendy Yara Ahmed Aisha Bruno Carmen Chen Dmitri Elena Fatima George Hana Ivan Jamal Julia Karim Lena Luis Mei Nadia Oscar Priya Raj Sara Sofia Tom Vera Will Yuki"
	places    = "Paris London Tokyo Seattle Chicago Boston Denver Austin Miami Toronto Lisbon Barcelona Rome Berlin Vienna Prague Athens Istanbul Cairo Nairobi Mumbai Bangkok Singapore Seoul Kyoto Sydney Peru Brazil Iceland Norway Italy Spain Greece Japan Canada Mexico France Germany"
	languages = "French Spanish German Italian Portuguese Japanese Korean Chinese Latin Dutch Swedish Russian Arabic Hindi Turkish Greek Swahili Finnish Klingon Esperanto"
)

// readLexicon takes from WordNet the words that its texts use.
func readLexicon(dir string) (*lexicon, error) {
	l := &lexicon{names: strings.Fields(names), places: strings.Fields(places), languages: strings.Fields(languages)}
	f, err := os.Open(filepath.Join(dir, "cntlist.rev"))
	if err != nil {
		return nil, fmt.Errorf("open counts: %w", err)
	}
	defer func() { err = f.Close() }()
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		field := strings.Fields(lines.Text())
		lemma, sense, ok := strings.Cut(field[0], "%")
		n, bad := strconv.Atoi(field[2])
		if !ok || bad != nil || n < 2 || len(lemma) < 3 || strings.ContainsAny(lemma, "0123456789.'") || seen[lemma+sense[:1]] {
			continue
		}
		seen[lemma+sense[:1]] = true
		word := strings.ReplaceAll(lemma, "_", " ")
		switch sense[0] {
		case '1':
			l.nouns = append(l.nouns, word)
		case '2':
			l.verbs = append(l.verbs, word)
		case '3', '5':
			l.adjectives = append(l.adjectives, word)
		}
		if !strings.ContainsAny(lemma, "_-") {
			l.single = append(l.single, word)
		}
	}
	for _, list := range [][]string{l.nouns, l.verbs, l.adjectives, l.single} {
		sort.Strings(list)
	}
	return l, lines.Err()
}

func readGlosses(dir string) ([]string, error) {
	var out []string
	for _, part := range []string{"noun", "verb"} {
		data, err := os.ReadFile(filepath.Join(dir, "data."+part))
		if err != nil {
			return nil, fmt.Errorf("read glosses: %w", err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			head, gloss, ok := strings.Cut(line, "| ")
			field := strings.Fields(head)
			if !ok || strings.HasPrefix(line, "  ") || i%4 != 0 || len(field) < 5 {
				continue
			}
			gloss, _, _ = strings.Cut(gloss, "; \"")
			out = append(out, title(strings.ReplaceAll(field[4], "_", " "))+" is "+strings.TrimSpace(gloss)+".")
		}
	}
	return out, nil
}

// readChats reads the turns of the Chit-Chat Challenge data set.
func readChats(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read chats: %w", err)
	}
	var all map[string]struct {
		Messages [][]struct{ Text string }
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("decode chats: %w", err)
	}
	var out []string
	for _, chat := range all {
		for _, group := range chat.Messages {
			var turn []string
			for _, m := range group {
				turn = append(turn, strings.TrimSpace(m.Text))
			}
			if text := strings.Join(turn, " "); len(text) > 20 {
				out = append(out, text)
			}
		}
	}
	sort.Strings(out)
	return out, nil
}

// readDocs reads the paragraphs of a tree of HTML pages.
func readDocs(dir string) ([]string, error) {
	paragraph := regexp.MustCompile(`(?s)<p>(.*?)</p>`)
	tag := regexp.MustCompile(`<[^>]*>`)
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range paragraph.FindAllStringSubmatch(string(data), -1) {
			text := strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(m[1], ""))), " ")
			if len(text) > 60 && len(text) < 900 {
				out = append(out, strings.TrimSuffix(text, "¶"))
			}
		}
		return nil
	})
	return out, err
}

// longestSection is the number of bytes of a section that are read.
const longestSection = 4000

// readManuals reads the sections of a tree of Markdown files, each behind its heading.
func readManuals(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := strings.ToLower(filepath.Ext(path)); err != nil || d.IsDir() || ext != ".md" && ext != ".mdx" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var section []string
		add := func() {
			if text := strings.TrimSpace(strings.Join(section, "\n")); len(text) > 40 {
				out = append(out, strings.ToValidUTF8(text[:min(len(text), longestSection)], ""))
			}
			section = section[:0]
		}
		fenced := false
		for line := range strings.SplitSeq(string(data), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if !fenced && strings.HasPrefix(line, "#") {
				add()
				line = strings.TrimLeft(line, "# ")
			}
			section = append(section, line)
		}
		add()
		return nil
	})
	return out, err
}

// readCode reads short functions of a tree of Python files.
func readCode(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.Contains(path, "site-packages") || strings.HasSuffix(path, "/test") || strings.Contains(path, "idlelib") || strings.Contains(path, "lib2to3")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".py") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var block []string
		for _, line := range strings.Split(string(data), "\n") {
			if line != "" && line[0] != ' ' && line[0] != '\t' && line[0] != ')' || len(block) > 24 {
				if len(block) > 2 {
					out = append(out, strings.TrimRight(strings.Join(block, "\n"), "\n"))
				}
				block = block[:0]
			}
			block = append(block, line)
		}
		return nil
	})
	return out, err
}

// readComments reads the doc comments of a tree of Go files.
func readComments(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var block []string
		for _, line := range strings.Split(string(data), "\n") {
			if text, ok := strings.CutPrefix(line, "// "); ok {
				block = append(block, text)
				continue
			}
			if text := strings.Join(block, " "); len(text) > 80 && len(text) < 900 && !strings.Contains(text, "Copyright") {
				out = append(out, text)
			}
			block = block[:0]
		}
		return nil
	})
	return out, err
}
