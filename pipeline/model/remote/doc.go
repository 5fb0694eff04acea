// Package remote asks models over HTTP: chat completions and embeddings as OpenAI's API has them, and
// rerankers as Cohere, Jina and TEI have them.
//
// It promises that no text and no key is in an error, that a call ends within its deadline, that what
// may pass is tried again, and that an answer which is not whole counts as none.
package remote
