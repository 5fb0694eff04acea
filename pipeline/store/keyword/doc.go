// Package keyword is the port of lexical search: BM25 over the words of a tenant's items.
//
// It owns the Index interface. Terms are those of package language. The drivers, memory.Keyword and
// postgres.Keyword, pass keywordtest.Run. Selection searches it, the projector feeds it, and it can be thrown
// away at any time: the log rebuilds it.
//
// # What an index promises
//
//   - Every call checks its scope and reaches that tenant only. The same id may exist in
//     any number of tenants. Statistics (documents, document frequency, average length)
//     are those of the query's population, exact at any moment, also after replacements and removals.
//   - Changes come in order of position, none above upTo. Apply MUST be idempotent by position: a change at or below the checkpoint is
//     skipped, and the checkpoint moves with the changes it covers. What Apply took is
//     visible to the next Search when it returns.
//   - Search MUST return the best hits first, equal scores in the order of their ids, at
//     most Limit of them and only documents with a query term that pass the filter. Score
//     MUST return for an id exactly what Search would.
//   - SearchEach, where a driver has it, MUST return what Search does under each filter.
//   - Digest MUST depend on the documents alone, not on how they got there: a rebuilt
//     index has the digest of the live one.
//
// The score is BM25, unless the driver says otherwise (Robertson and Zaragoza, "The Probabilistic
// Relevance Framework", 2009): the sum over query terms of
//
//	ln(1 + (N − df + ½)/(df + ½)) · tf·(k1+1) / (tf + k1·(1 − b + b·len/avg))
//
// with k1 = 1.2, b = 0.75, len the number of a document's terms and avg its mean. A term
// that occurs twice in the query counts twice.
//
// Documents a filter hides are never returned. N, df, avg and the moments are of the query's
// population alone. A term that no document of it has counts as if one had it, and without any
// document avg is TypicalLength.
package keyword

// Version numbers the rules of analysis. A stored index of another version is rebuilt.
const Version = 3

// TypicalLength is how many terms a document is taken to have where none counts.
const TypicalLength = 20
