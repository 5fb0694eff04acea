package schemas

// Limits of the wire contract. A document beyond one of them is refused with the
// pointer of the field.
const (
	MaxText        = 5 << 20       // bytes of an item's content
	MaxAttributes  = 64 << 10      // bytes of an item's attributes
	MaxSummary     = 64 << 10      // bytes of a summary's text
	MaxLabels      = 64            // security labels of an item
	MaxLinks       = 256           // links of an item or a memory.linked event
	MaxHops        = 3             // of query.graph
	MaxRefs        = 256           // pii_flags, graph_refs, policy_tags, dropped_spans, groups, roles
	MaxName        = 256           // characters of a short text: session, category, speaker, …
	MaxURI         = 2048          // characters of source_uri and embedding_ref
	MaxReason      = 1024          // characters of a reason
	MaxItems       = 1000          // items named by one accessed or erased event
	MaxTTL         = 3_155_760_000 // seconds, a hundred years
	MaxNesting     = 64            // objects and arrays inside one another
	MaxLimit       = 1000          // items a request may ask for
	MaxEntries     = 200           // entries of the log a request may ask for
	MaxTokenBudget = 1_000_000     // tokens a request may ask for
	MaxQuery       = 32 << 10      // bytes of query.text and task
	MaxMessage     = 256 << 10     // bytes of user_message
	MaxVector      = 4096          // dimensions of query.vector
	MaxFilters     = 64            // filters of a query, values of one, signals of a turn
	MaxWait        = 60_000        // milliseconds a receipt may be waited for
	MaxLine        = 8 << 20       // bytes of one line of JSONL, as Lint and imports read it
)
