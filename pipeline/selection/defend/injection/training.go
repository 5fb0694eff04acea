package injection

import (
	"maps"
	"slices"
)

// Sizes that training has to know.
const (
	Buckets = buckets
	Inputs  = inputs
	Hidden  = hidden
)

// Groups are the words of like meaning; for training.
type Groups struct{ table *groupTable }

// NewGroups returns the Groups of at most MostGrouped words: each has the number of its group, from 1 on.
func NewGroups(words map[string]uint8) *Groups {
	t := &groupTable{}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		tokens := tokenizer{text: word}
		if tokens.moveToNext() && words[word] != 0 {
			t.storeGroup(tokens.hash, words[word])
		}
	}
	return &Groups{t}
}

// Words calls f with every word of a text, in small letters; for training.
func Words(text string, f func(string)) {
	tokens := tokenizer{text: text}
	for tokens.moveToNext() {
		if tokens.kind == wordToken && tokens.class == 0 {
			f(lowerText(text[tokens.start:tokens.at]))
		}
	}
}

// Features appends the buckets of the features of a sentence to list; for training.
func (g *Groups) Features(list []uint32, text string) []uint32 {
	s := sums{model: &Model{groups: g.table}, keep: func(b uint32) { list = append(list, b) }}
	s.scoreSentence(text, &sentence{})
	return list
}

// Sentences calls f with every sentence of a text; for training.
func Sentences(text string, f func(string)) {
	split := splitter{text: text}
	for start, end, ok := split.findNextSentence(); ok; start, end, ok = split.findNextSentence() {
		f(text[start:end])
	}
}

// NewModel returns a model of the first stage: weights by bucket and head, and biases.
// The logit of a sentence is its bias and the sum of its weights over the root of
// their number. Weights are rounded to int8.
func (g *Groups) NewModel(weights [][heads]float32, bias [heads]float32) *Model {
	m := &Model{groups: g.table, weights: make([]lanes, buckets), bias: bias}
	rounded := make([][heads]int8, buckets)
	for h := range heads {
		most := float32(1e-6)
		for i := range weights {
			most = max(most, weights[i][h], -weights[i][h])
		}
		m.scale[h] = most / 127
		for i := range weights {
			v := weights[i][h] / m.scale[h]
			rounded[i][h] = int8(v + .5 - convertToFloat(v < 0))
		}
	}
	for i := range rounded {
		m.weights[i] = packWeights(rounded[i])
	}
	return m
}

// Sentence returns the logits of a sentence by head; for training.
func (m *Model) Sentence(text string) (logit [heads]float32) {
	sum := sums{model: m}
	s := sentence{}
	sum.scoreSentence(text, &s)
	return s.logit
}

// Document returns what the second stage knows of a text; for training.
func (m *Model) Document(text string) [Inputs]float32 {
	var d document
	With(m).visitSentences(text, func(s *sentence) { d.addSentence(s) })
	var x [inputs]float32
	if d.sentences > 0 {
		d.fillInputs(&x)
	}
	return x
}

// SetNetwork sets the second stage: a layer of rectified units and their weights.
func (m *Model) SetNetwork(first [Hidden][Inputs]float32, shift, second [Hidden]float32, offset float32) {
	m.first = first
	m.shift = shift
	m.second = second
	m.offset = offset
}
