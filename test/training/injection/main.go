// Command train makes the model of the injection classifier: it writes sentences and
// documents by a seeded grammar around texts of packages whose licence allows it, fits
// the two stages and says how the model does on documents it has not seen.
package main

import (
	"context"
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
	documents := flag.Int("documents", 110_000, "documents of the second stage")
	flag.Parse()
	if err := train(context.Background(), *wordnet, *docs, *python, *golang, *chats, *manuals, *out, *sentences, *documents); err != nil {
		slog.Error("train", "err", err)
	}
}

// prior moves scores from documents of which half are injected to such of which one in
// six is: the logarithm of five.
const prior = 1.609

func train(ctx context.Context, wordnet, docs, python, golang, chats, manuals, out string, sentences, documents int) error {
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
	grouped, err := groupWords(ctx, rng, g, t)
	if err != nil {
		return err
	}
	m := &maker{grammar: g, texts: t, groups: grouped}
	// Each half of the grammar is judged by a first stage that saw the other half, so
	// that the second stage learns from logits of sentences that are new.
	var rows []row
	for half := range 2 {
		m.half = 1 - half
		first := m.first(sentences)
		m.half = half
		rows = append(rows, m.rows(first, documents/2)...)
		for i, text := range t.manuals {
			if i%2 == half {
				rows = append(rows, row{x: first.Document(text)})
			}
		}
	}
	slog.Info("second stage", "documents", len(rows))
	n := fitDocuments(rng, rows, 20)
	m.half = -1
	model := m.first(sentences)
	model.SetNetwork(n.first, n.shift, n.second, n.offset-prior)
	m.report(model)
	return os.WriteFile(out, model.Encode(), 0o644)
}

// first fits the first stage, and fits it anew with the sentences of people that it takes for attacks.
func (m *maker) first(sentences int) *injection.Model {
	list := m.examples(sentences)
	hard := m.mistaken(fitSentences(m.rng, m.groups, list, 2))
	slog.Info("first stage", "examples", len(list), "mistaken", len(hard))
	for range 2 {
		list = append(list, hard...)
	}
	return fitSentences(m.rng, m.groups, list, 3)
}

// mistaken returns the harmless sentences of people that a model is not sure of.
func (m *maker) mistaken(model *injection.Model) []example {
	const unknown = -1
	var out []example
	for _, source := range []struct {
		texts  []string
		labels [heads]int8
	}{
		{m.texts.manuals, [heads]int8{0, 0, unknown, 0, 1}},
		{m.texts.comments, [heads]int8{0, 0, unknown, 0, 1}},
		{m.texts.prose, [heads]int8{0, 0, unknown, 0, 1}},
		{m.texts.code, [heads]int8{0, 0, 0, 0, unknown}},
		{m.texts.turns, [heads]int8{0, 0, unknown, 0, 0}},
	} {
		for i, text := range source.texts {
			if m.half >= 0 && i%2 != m.half {
				continue
			}
			injection.Sentences(text, func(s string) {
				if l := model.Sentence(s); max(l[0], l[1], l[3]) > -2 {
					out = append(out, example{s, source.labels})
				}
			})
		}
	}
	return out
}

// examples makes labelled sentences for the first stage.
func (m *maker) examples(count int) []example {
	const unknown = -1
	out := make([]example, 0, count)
	for len(out) < count {
		var e example
		switch r := m.rng.Float64() * 1.75; {
		case r > 1.43:
			text, attacks := m.plea()
			e = example{text, [heads]int8{unknown, 1, unknown, 0, unknown}}
			if attacks {
				e.labels = [heads]int8{1, 1, unknown, 0, unknown}
			}
		case r > 1.33:
			e = example{m.sentence(), [heads]int8{1, unknown, unknown, 0, unknown}}
		case r > 1.32:
			out = m.pieces(out, m.set(m.some(1, 3, m.remark, " ")), [heads]int8{0, 0, 0, 0, unknown})
			continue
		case r > 1.13:
			e = example{m.fair(), [heads]int8{0, 0, unknown, 0, unknown}}
		case r > 1.10:
			out = m.pieces(out, m.commented(m.some(1, 2, m.remark, " ")), [heads]int8{0, 0, 0, 0, 1})
			continue
		case r > 1.06:
			out = m.pieces(out, m.sheet(m.remark()), [heads]int8{0, 0, 0, 0, 1})
			continue
		case r > 1.02:
			out = m.pieces(out, m.transcript(), [heads]int8{0, unknown, unknown, 0, unknown})
			continue
		case r > 1:
			e = example{m.from("system_prompt"), [heads]int8{0, unknown, unknown, 0, unknown}}
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
