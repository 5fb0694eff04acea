package schemas

import "time"

// SearchRequest asks ctx.v1.<tenant>.search for ranked memories, by text or by a
// vector made before.
type SearchRequest struct {
	From                 *Agent    `json:"from,omitempty"`                  // who asks
	Query                string    `json:"query,omitempty"`                 // text; required without vector
	Vector               []float32 `json:"vector,omitempty"`                // instead of query
	Limit                int       `json:"limit,omitempty"`                 // default 10
	MemoryTypes          []string  `json:"memory_types,omitempty"`          // memory types, kinds or categories; empty: all
	DateFrom             time.Time `json:"date_from,omitzero"`              // inclusive, by created_at
	DateTo               time.Time `json:"date_to,omitzero"`                // exclusive
	MinConfidence        *float64  `json:"min_confidence,omitempty"`        // 0–1
	MinScore             *float64  `json:"min_score,omitempty"`             // score under which results are left out, 0–1; default: that of the settings
	ConversationID       string    `json:"conversation_id,omitempty"`       // session
	TZ                   string    `json:"tz,omitempty"`                    // time zone whose days the query means, as Asia/Tokyo or +09:00; default the setting
	Filters              Filters   `json:"filters,omitempty"`               // by field, as query.filters of a context request, such as {"labels": "project:apollo"}
	IncludeRelationships bool      `json:"include_relationships,omitempty"` // follow links from each result
	RelationshipDepth    int       `json:"relationship_depth,omitempty"`    // hops, default 1, at most 4; a graph walks 3
	Purpose              string    `json:"purpose,omitempty"`               // what the data is for, seen by policy
	MinPosition          int64     `json:"min_position,omitempty"`          // log position the indexes must have reached
}

// SearchReply answers a SearchRequest.
type SearchReply struct {
	Results  []SearchResult `json:"results"`  // best first
	Warnings []string       `json:"warnings"` // sources that were late or failed
}

// SearchResult is one found memory.
type SearchResult struct {
	Memory        ResultItem      `json:"memory"`                  // as policy lets it be seen
	Score         float64         `json:"score"`                   // 0–1
	Rank          int             `json:"rank,omitempty"`          // from 1
	Versions      []MemoryVersion `json:"versions,omitempty"`      // older ones that it stands for, newest first
	Relationships []RelatedMemory `json:"relationships,omitempty"` // with include_relationships
}

// MemoryVersion is an older memory for which a newer one stands that says the same, or nearly so.
type MemoryVersion struct {
	ID         string    `json:"id"`                   // of the older memory
	CreatedAt  time.Time `json:"created_at"`           // when that was made
	Difference string    `json:"difference,omitempty"` // what it says otherwise, with a few words around it; empty: nothing
}

// RelatedMemory is a memory reached by links.
type RelatedMemory struct {
	Memory       ResultItem `json:"memory"`       // as policy lets it be seen
	Relationship Edge       `json:"relationship"` // last edge of the way
	Depth        int        `json:"depth"`        // hops from the result
}

// ContextTemplate renders memories. Variables: {{content}}, {{type}}, {{confidence}},
// {{timestamp}} and {{score}}.
type ContextTemplate struct {
	Name            string `json:"name"`                       // [A-Za-z0-9_-]{1,64}
	Header          string `json:"header,omitempty"`           // before the first memory
	MemoryFormat    string `json:"memory_format"`              // each memory
	Separator       string `json:"separator,omitempty"`        // between memories
	Footer          string `json:"footer,omitempty"`           // after the last memory
	IncludeMetadata bool   `json:"include_metadata,omitempty"` // fill type, confidence and timestamp
}

// BuildRequest asks ctx.v1.<tenant>.build for a rendered context, and
// ctx.v1.<tenant>.preview for what it would show.
type BuildRequest struct {
	SearchRequest
	Template        string           `json:"template,omitempty"`         // name; default chat
	Inline          *ContextTemplate `json:"inline,omitempty"`           // a template for this request alone
	TokenBudget     int              `json:"token_budget,omitempty"`     // default 2000
	Ranker          string           `json:"ranker,omitempty"`           // default, similarity, recency, confidence or a registered one
	RankerWeights   *RankerWeights   `json:"ranker_weights,omitempty"`   // instead of ranker: weights for this request alone
	IncludeMetadata bool             `json:"include_metadata,omitempty"` // memory metadata in the output
	ScoresOnly      bool             `json:"scores_only,omitempty"`      // a preview without text and memories, which is not logged
	Model           string           `json:"model,omitempty"`            // names the tokenizer; default cl100k_base
}

// RankerWeights say how much each part of a ranker counts, 0 to 1; their sum is taken as 1.
type RankerWeights struct {
	Similarity float64 `json:"similarity,omitempty"` // to the query
	Recency    float64 `json:"recency,omitempty"`    // 1/(1 + days since creation)
	Confidence float64 `json:"confidence,omitempty"` // the writer's
}

// BuildReply answers a BuildRequest.
type BuildReply struct {
	Context    string         `json:"context"`     // the rendered text
	TokenCount int            `json:"token_count"` // of the text
	Memories   []SearchResult `json:"memories"`    // in the order shown
	Truncated  bool           `json:"truncated"`   // the budget left something out
	Template   string         `json:"template"`    // used
	PackID     string         `json:"pack_id"`     // of the pack in the log
	Positions  Positions      `json:"positions"`   // log positions

	TemplateAuthor string   `json:"template_author"`    // who registered the template; satchel for a built-in one
	TemplateSHA256 string   `json:"template_sha256"`    // hex, of the template as its author wrote it
	Warnings       []string `json:"warnings,omitempty"` // sources that were late or failed, and what of the template was left out
}

// PreviewReply is what a build shows, and how it was ranked. It is logged as a build is, unless it has scores only.
type PreviewReply struct {
	BuildReply
	MemoryIDs     []string           `json:"memory_ids"`     // of memories, in their order
	RankingScores map[string]float64 `json:"ranking_scores"` // by memory id, shown or not, of what policy allows
	BudgetUsed    float64            `json:"budget_used"`    // percent
}

// AssembleRequest asks ctx.v1.<tenant>.assemble for Markdown over several kinds of source.
type AssembleRequest struct {
	From         *Agent   `json:"from,omitempty"`          // who asks
	Query        string   `json:"query"`                   // what context is needed
	ContextTypes []string `json:"context_types,omitempty"` // memories, code, experiences, values, commits; empty: all
	Limit        int      `json:"limit,omitempty"`         // items a source, default 20
	MaxTokens    int      `json:"max_tokens,omitempty"`    // default 2000
	MinScore     *float64 `json:"min_score,omitempty"`     // relevance under which items are left out; default: .3 for those without a word of the query
	Fill         bool     `json:"fill,omitempty"`          // take the whole max_tokens; without it the text ends where more is worth too little for its tokens
	TZ           string   `json:"tz,omitempty"`            // time zone whose days the query means, as Asia/Tokyo or +09:00; default the setting
	Purpose      string   `json:"purpose,omitempty"`       // what the data is for, seen by policy
}

// PremortemRequest asks ctx.v1.<tenant>.premortem for past failures of a domain.
type PremortemRequest struct {
	From      *Agent `json:"from,omitempty"`       // who asks
	Domain    string `json:"domain"`               // debugging, feature, …
	Strategy  string `json:"strategy,omitempty"`   // also what this strategy taught
	Limit     int    `json:"limit,omitempty"`      // items a category, default 10
	MaxTokens int    `json:"max_tokens,omitempty"` // default 1500
	Purpose   string `json:"purpose,omitempty"`    // what the data is for, seen by policy
}

// FormattedContext answers an AssembleRequest and a PremortemRequest.
type FormattedContext struct {
	Markdown    string          `json:"markdown"`     // ready for injection
	Items       []AssembledItem `json:"items"`        // in the order shown
	TokenCount  int             `json:"token_count"`  // of the Markdown
	SourcesUsed map[string]int  `json:"sources_used"` // items by context type
	Exceeded    bool            `json:"exceeded"`     // over max_tokens, by a tenth at most
	Warnings    []string        `json:"warnings"`     // sources that were late or failed
	PackID      string          `json:"pack_id"`      // of the pack in the log
	Positions   Positions       `json:"positions"`    // log positions
}

// AssembledItem is one piece of context.
type AssembledItem struct {
	Source    string         `json:"source"`    // memory, code, experience, value or commit
	Content   string         `json:"content"`   // formatted for display
	Relevance float64        `json:"relevance"` // 0–1
	Metadata  map[string]any `json:"metadata"`  // by source
}

// RelevanceReply answers ctx.v1.<tenant>.relevance.
type RelevanceReply struct {
	Inclusion map[string]bool `json:"inclusion"` // by context node
	Trace     RelevanceTrace  `json:"trace"`     // why
}

// ExplainRequest asks ctx.v1.<tenant>.explain why an item is, or is not, in a pack.
type ExplainRequest struct {
	From   *Agent `json:"from,omitempty"` // who asks: the pack's principal or an auditor
	PackID string `json:"pack_id"`        // the pack
	ItemID string `json:"item_id"`        // the item
}

// ExplainReply answers an ExplainRequest.
type ExplainReply struct {
	Explanation string       `json:"explanation"`       // one sentence
	Change      string       `json:"change,omitempty"`  // what would have changed the outcome
	Item        *ContextItem `json:"item,omitempty"`    // when it was shown
	Drop        *Drop        `json:"drop,omitempty"`    // when it was left out
	Verdict     *Verdict     `json:"verdict,omitempty"` // policy's answer
}

// CompactRequest asks ctx.v1.<tenant>.compact to bring a pack, or what a session holds,
// under a budget, and to keep summaries of it. pack_id or session is required, not
// both.
type CompactRequest struct {
	From    *Agent `json:"from,omitempty"`    // who asks: for a pack its principal, or an auditor
	PackID  string `json:"pack_id,omitempty"` // the pack
	Session string `json:"session,omitempty"` // instead of a pack: the session, at most its 1,000 newest items
	Query   string `json:"query,omitempty"`   // what the context is for; picks sentences
	Model   string `json:"model,omitempty"`   // names the tokenizer; default cl100k_base
	Purpose string `json:"purpose,omitempty"` // what the data is for, seen by policy
	Budget  int    `json:"budget"`            // tokens
}

// CompactReply answers a CompactRequest.
type CompactReply struct {
	Compacted ContextPack   `json:"compacted"`   // the smaller pack
	Text      string        `json:"text"`        // its rendered text
	Drop      DropReport    `json:"drop_report"` // what it left out
	Results   []ResultItem  `json:"results"`     // what it shows; extracts where spans are named
	Summaries []SummaryInfo `json:"summaries"`   // kept as items
	Warnings  []string      `json:"warnings"`    // what could not be done
	Positions Positions     `json:"positions"`   // log positions
}

// SummaryInfo is a summary that was kept as an item of kind summary.
type SummaryInfo struct {
	ID       string        `json:"id"`                 // of the item
	Level    SummaryLevel  `json:"level"`              // item, cluster or session
	Text     string        `json:"text"`               // a line a sentence
	Lines    []SummaryLine `json:"lines"`              // what each line cites
	Links    []string      `json:"derived_from"`       // items and summaries it was made from
	Tokens   int           `json:"tokens"`             // of the text
	Position int64         `json:"position,omitempty"` // log position
}

// RecoverRequest asks ctx.v1.<tenant>.recover for what a drop report named. Policy
// decides anew for who asks. Give item_ids, spans or both.
type RecoverRequest struct {
	From    *Agent    `json:"from,omitempty"`     // who asks: the pack's principal, or an auditor
	PackID  string    `json:"pack_id"`            // the pack
	ItemIDs []string  `json:"item_ids,omitempty"` // items of which something was dropped: they come whole
	Spans   []SpanRef `json:"spans,omitempty"`    // dropped spans: these alone come
	Purpose string    `json:"purpose,omitempty"`  // what the data is for, seen by policy
}

// RecoverReply answers a RecoverRequest.
type RecoverReply struct {
	Results   []ResultItem `json:"results"`   // what policy still allows
	Missing   []string     `json:"missing"`   // the others: not named, denied, changed since, erased, too much
	PackID    string       `json:"pack_id"`   // of the pack in the log that shows them
	Positions Positions    `json:"positions"` // log positions
}

// ItemsRequest asks ctx.v1.<tenant>.items for items by their ids, or for a page of the
// current ones that pass the filters, newest first. Nothing is ranked.
type ItemsRequest struct {
	From        *Agent   `json:"from,omitempty"`         // who asks
	ItemIDs     []string `json:"item_ids,omitempty"`     // these items, in this order; not with a filter
	Session     string   `json:"session,omitempty"`      // items of this conversation
	Labels      []string `json:"labels,omitempty"`       // items that bear all of these
	Kinds       []Kind   `json:"kinds,omitempty"`        // items of one of these kinds
	After       string   `json:"after,omitempty"`        // the next of an earlier reply
	Limit       int      `json:"limit,omitempty"`        // items of a page; default 50
	Purpose     string   `json:"purpose,omitempty"`      // what the data is for, seen by policy
	MinPosition int64    `json:"min_position,omitempty"` // log position the indexes must have reached
}

// ItemsReply answers an ItemsRequest.
type ItemsReply struct {
	Items     []ResultItem `json:"items"`          // as policy lets them be seen
	Next      string       `json:"next,omitempty"` // gives the next page, as after; absent at the end
	Missing   []string     `json:"missing"`        // of item_ids: what is not shown
	Dropped   []Drop       `json:"dropped"`        // of the page, or of missing: what is there and left out, and why; policy hides the others, or there is no such item
	PackID    string       `json:"pack_id"`        // of the pack in the log that shows them
	Positions Positions    `json:"positions"`      // log positions
}

// StatusRequest asks ctx.v1.<tenant>.status how large the tenant's log is and how
// far its indexes are.
type StatusRequest struct {
	From *Agent `json:"from,omitempty"` // who asks
}

// StatusReply answers a StatusRequest.
type StatusReply struct {
	Ready   bool             `json:"ready"`            // the log and every index answer
	Reason  string           `json:"reason,omitempty"` // which do not
	Size    int64            `json:"size"`             // entries of the log, packs and decisions among them
	Indexed map[string]int64 `json:"indexed"`          // by index: the log position up to which it has everything
}

// PlanRequest asks mem.v1.<tenant>.plan what an erasure of items would take. Who may not erase
// them is refused, as the erasure would be. Nothing is changed.
type PlanRequest struct {
	From  *Agent   `json:"from,omitempty"` // who would erase
	Items []string `json:"items"`          // ids of items
}

// PlanReply answers a PlanRequest.
type PlanReply struct {
	Items     []string `json:"items"`     // the items
	Summaries []string `json:"summaries"` // summaries made of them, which go as well
	Packs     int      `json:"packs"`     // packs that show any of these: their text goes
	Artifacts int      `json:"artifacts"` // heavy contents of the items; one that other items have stays
	Position  int64    `json:"position"`  // log position of the last entry that would go; another one says that there is more to erase
}

// TemplateRequest asks ctx.v1.<tenant>.template for the templates, or registers one.
type TemplateRequest struct {
	From     *Agent           `json:"from,omitempty"`     // who asks
	Register *ContextTemplate `json:"register,omitempty"` // the template to register
}

// TemplateReply answers a TemplateRequest.
type TemplateReply struct {
	Templates []RegisteredTemplate `json:"templates"`          // by name
	Warnings  []string             `json:"warnings,omitempty"` // what of the template that was registered others will not see
}

// RegisteredTemplate is a template and where it is from.
type RegisteredTemplate struct {
	ContextTemplate
	Author string `json:"author"` // who registered it; satchel for a built-in one, empty where that was not kept
	SHA256 string `json:"sha256"` // hex, of the template

	Flagged Flag `json:"flagged,omitempty"` // a part of it looks like an injected instruction; others are not shown it
}
