// Command train makes the model of the injection classifier: it writes sentences and
// documents by a seeded grammar around texts of packages whose licence allows it, fits
// the two stages and says how the model does on documents it has not seen.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"satchel/pipeline/selection/defend/injection"
)

func main() {
	wordnet := flag.String("wordnet", "/usr/share/wordnet", "folder of WordNet 3.0")
	docs := flag.String("docs", "/usr/share/doc/python3.11/html", "folder of the Python documentation")
	python := flag.String("python", "/usr/lib/python3.11", "folder of the Python standard library")
	golang := flag.String("go", "/usr/local/go/src", "folder of the Go source tree")
	chats := flag.String("chats", "dataset.json", "the Chit-Chat Challenge data set")
	manuals := flag.String("manuals", "manuals", "folder of technical documentation in Markdown")
	out := flag.String("out", "../../../pipeline/selection/defend/injection/"+injection.Revision+".bin", "model file to write")
	sentences := flag.Int("sentences", 200_000, "sentences of the first stage")
	documents := flag.Int("documents", 150_000, "documents of the second stage")
	flag.Parse()
	if err := train(*wordnet, *docs, *python, *golang, *chats, *manuals, *out, *sentences, *documents); err != nil {
		slog.Error("train", "err", err)
	}
}

// prior moves scores from documents of which half are injected to such of which one in
// six is: the logarithm of five.
const prior = 1.609

func train(wordnet, docs, python, golang, chats, manuals, out string, sentences, documents int) error {
	rng := rand.New(rand.NewPCG(20, 26))
	words, err := readLexicon(wordnet)
	if err != nil {
		return err
	}
	t := &texts{}
	for _, source := range []struct {
		into *[]string
		read func(string) ([]string, error)
		path string
	}{
		{&t.glosses, readGlosses, wordnet}, {&t.prose, readDocs, docs}, {&t.code, readCode, python},
		{&t.comments, readComments, golang}, {&t.turns, readChats, chats}, {&t.manuals, readManuals, manuals},
	} {
		if *source.into, err = source.read(source.path); err != nil {
			return fmt.Errorf("read %q: %w", source.path, err)
		}
		slices.Sort(*source.into)
		*source.into = slices.Compact(*source.into)
		slog.Info("read", "path", filepath.Base(source.path), "texts", len(*source.into))
	}
	g, err := newGrammar(rng, words)
	if err != nil {
		return err
	}
	m := &maker{grammar: g, texts: t}
	// Each half of the grammar is judged by a first stage that saw the other half, so
	// that the second stage learns from logits of sentences that are new.
	var rows []row
	for half := range 2 {
		m.half = 1 - half
		first := fitSentences(rng, m.examples(sentences), 3)
		m.half = half
		rows = append(rows, m.rows(first, documents/2)...)
	}
	slog.Info("second stage", "documents", len(rows))
	n := fitDocuments(rng, rows, 30)
	m.half = -1
	model := fitSentences(rng, m.examples(sentences), 3)
	model.SetNetwork(n.first, n.shift, n.second, n.offset-prior)
	m.report(model)
	return os.WriteFile(out, model.Encode(), 0o644)
}

// examples makes labelled sentences for the first stage.
func (m *maker) examples(count int) []example {
	const unknown = -1
	out := make([]example, 0, count)
	for len(out) < count {
		var e example
		switch r := m.rng.Float64(); {
		case r < .14:
			e = example{m.sentence(), [heads]int8{1, unknown, unknown, 0, unknown}}
		case r < .25:
			e = example{m.dot(m.from("reply")), [heads]int8{0, 1, unknown, 0, unknown}}
		case r < .29:
			e = example{m.from("code_directive"), [heads]int8{0, 1, unknown, 0, unknown}}
		case r < .40:
			e = example{m.dot(m.from("task")), [heads]int8{0, 0, 1, 0, 0}}
		case r < .41:
			e = example{m.from("soft_line"), [heads]int8{0, 0, 0, 0, unknown}}
		case r < .44:
			e = example{m.from("evil_line"), [heads]int8{unknown, unknown, 0, 1, unknown}}
		case r < .72:
			_, parts, _ := m.context()
			out = m.pieces(out, pick(m.rng, parts), [heads]int8{0, 0, 0, 0, 1})
			continue
		case r < .75:
			e = example{m.from("task_extra"), [heads]int8{0, unknown, unknown, 0, 0}}
		case r < .78:
			e = example{m.from("deictic"), [heads]int8{0, 0, unknown, 0, 0}}
		default:
			d := m.innocent()
			asks := int8(0)
			if d.kind == "request" || d.kind == "requests" || d.kind == "given" || d.kind == "mixed" || d.kind == "trigger" || d.kind == "coding" || d.kind == "commit" {
				asks = unknown
			}
			steers := int8(0)
			if d.kind == "request" || d.kind == "requests" || d.kind == "mixed" {
				steers = unknown
			}
			if d.kind == "given" {
				continue
			}
			if d.kind == "manual" {
				out = m.pieces(out, d.text, [heads]int8{0, 0, unknown, 0, 1})
				continue
			}
			out = m.pieces(out, d.text, [heads]int8{0, steers, asks, 0, 0})
			continue
		}
		out = append(out, e)
	}
	return out
}

// pieces adds up to four sentences of a text.
func (m *maker) pieces(list []example, text string, labels [heads]int8) []example {
	var all []string
	injection.Sentences(text, func(s string) { all = append(all, s) })
	m.rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	for _, s := range all[:min(4, len(all))] {
		list = append(list, example{s, labels})
	}
	return list
}

func (m *maker) rows(first *injection.Model, count int) []row {
	out := make([]row, count)
	for i := range out {
		d := m.any()
		out[i].x = first.Document(d.text)
		if d.injected {
			out[i].want = 1
		}
	}
	return out
}

// report prints how a model does on new documents, by kind.
func (m *maker) report(model *injection.Model) {
	c := injection.With(model)
	total, wrong := map[string]int{}, map[string]int{}
	for range 6000 {
		d := m.any()
		total[d.kind]++
		if (c.Logit(d.text) >= 0) != d.injected {
			wrong[d.kind]++
		}
	}
	kinds := make([]string, 0, len(total))
	for k := range total {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		slog.Info("generated", "kind", k, "documents", total[k], "wrong", wrong[k])
	}
}
