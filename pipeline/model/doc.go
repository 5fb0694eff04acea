// Package model has the ports to models: an [Embedder] makes vectors of texts, a [Chat] answers with
// text, a [Reranker] scores a question and a text together.
//
// Nothing needs a chat model or a reranker: whoever asks one has a way on when it gives no answer, and
// treats what it says as untrusted text. What is asked is what the caller was allowed to see, for it may
// leave the process. Drivers are in the subfolders: static and encoder in the process, remote over HTTP,
// cache in front of any embedder. They pass the suites embedtest and chattest.
package model
