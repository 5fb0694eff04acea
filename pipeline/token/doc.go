// Package token counts what a text costs a model: its tokens.
//
// It owns the counters: byte-pair encodings counted exactly as tiktoken does
// (cl100k_base, o200k_base) and an estimate (ASCII bytes ÷ 4 + other bytes ÷ 2) for models whose
// tokenizer is not public. New finds the counter for an encoding or a model by name; a
// Registry shares them, because each encoding takes some tens of milliseconds and a few
// megabytes when it is first used, and nothing before. Cached remembers counts, Truncate
// cuts a text to a budget. An exact counter takes a text apart where no token can span
// the cut, mostly between words, and remembers how many tokens short pieces have: a word
// that was seen before costs a hash.
//
// Every counter is safe for concurrent use, gives the same count for the same text, and
// takes time proportional to the text's length whatever the text is.
package token
