package token

// Counter counts tokens the way a named model's tokenizer does. Safe for concurrent use.
type Counter interface {
	Name() string // "cl100k_base", "o200k_base", "ascii/4+other/2"
	Count(text string) int
}
