// Package injection tells text that carries instructions for whoever reads it with a
// language model from text that does not. It needs no server: the model is part of the
// program, and a text costs microseconds.
//
// It works in two stages. A sentence, a cell of a table and a comment of code are scored by hashed
// features (words, pairs of words, groups of words of like meaning and pairs of them, pairs of word
// classes and their order) for five things: an attack (takes over,
// leaks, sends, destroys, calls tools), a direction for the reply, a task for an
// assistant, harmful code, and whether it stands in somebody else's document. A small
// network then judges the document by the strongest sentence of each, by where it
// stands and by what surrounds it: a task is what a user asks on its own, and injected
// within another's e-mail or table. Encoded text is decoded first.
//
// Judge says besides whether a sentence orders its reader beyond doubt, and whether one is
// in a language that the model does not know. Of JSON the strings are the text: names and marks
// are no prose. Of a log the values are read, too.
// Across finds an attack that runs over the ends of several texts.
//
// It promises a score that depends on nothing but the text, and no text in errors. It
// is no proof: whoever knows it can write around it, so what it passes is still data
// and never instructions.
//
// Program train beside it made the model; NOTICE names the texts it was made from.
package injection
