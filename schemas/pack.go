package schemas

import (
	"slices"
	"time"
)

// ContextPack says what was shown, by reference: ids, spans, redactions, verdicts
// and salted hashes of the rendered bytes, never the content. It is the data of
// context.packed, as Logged returns it.
type ContextPack struct {
	ID              string           `json:"id"`
	SessionID       string           `json:"session_id"`
	CreatedAt       time.Time        `json:"created_at"`
	TokenBudget     int              `json:"token_budget"`
	TokenActual     int              `json:"token_actual"`
	Tokenizer       string           `json:"tokenizer"`
	PolicyDecisions []string         `json:"policy_decisions"` // verdict ids
	Sections        []ContextSection `json:"sections"`
	ProvenanceRefs  []ProvenanceRef  `json:"provenance_refs"`
	RequestID       string           `json:"request_id"`
	Principal       string           `json:"principal"`
	Purpose         string           `json:"purpose,omitempty"`
	Query           string           `json:"query,omitempty"` // as asked, where an item is shown; beside the content alone, not in the log
	Salt            string           `json:"salt,omitempty"`  // hex, 32 random bytes; beside the content alone, not in the log
	RenderedSHA256  string           `json:"rendered_sha256"` // hex, of salt and rendered text, see SaltedSHA256
	ResultSHA256    string           `json:"result_sha256"`   // hex, of the stored result, which has the salt
	AsOf            int64            `json:"as_of"`           // log position that was searched
	Embedding       string           `json:"embedding,omitempty"`
	Relevance       *RelevanceTrace  `json:"relevance,omitempty"`
	Ranking         *RankingTrace    `json:"ranking,omitempty"` // what the scores were made by
}

// Logged returns the pack as the log and the ledger have it: without the question, items by id, position and
// hash, without their labels, the places of their personal data and the addresses they are from, and
// hashes without the salt. What is logged is not changed when an item is erased; the stored result, which has them, is.
func (p *ContextPack) Logged() ContextPack {
	out := *p
	out.Query = ""
	out.Salt = ""
	out.Sections = slices.Clone(p.Sections)
	for i := range out.Sections {
		out.Sections[i].Items = slices.Clone(out.Sections[i].Items)
		for j := range out.Sections[i].Items {
			item := &out.Sections[i].Items[j]
			item.SecurityLabel = ""
			item.PIIFlags = []string{}
			item.Where = ""
			item.Evidence.Query = ""
		}
	}
	out.ProvenanceRefs = slices.Clone(p.ProvenanceRefs)
	for i := range out.ProvenanceRefs {
		out.ProvenanceRefs[i].Source = ""
	}
	return out
}

// RankingTrace is what the scores of a pack were made by.
type RankingTrace struct {
	Profile  string             `json:"profile"`              // name of the ranking profile
	Weights  map[string]float64 `json:"weights"`              // by signal, without those of weight 0; they sum to 1
	Lambda   float64            `json:"recency_decay_lambda"` // per day
	Limit    int                `json:"limit"`                // items shown at most
	MinScore float64            `json:"min_score,omitempty"`  // score that was asked for
	MaxBytes int                `json:"max_bytes,omitempty"`  // bytes of content shown at most
	Prefer   Preference         `json:"prefer,omitempty"`     // where the asker expected the answer
}

// RelevanceTrace is what the relevance pre-parser decided, and why.
type RelevanceTrace struct {
	Mode             string   `json:"mode"`                        // cognitive mode of the turn
	Included         []string `json:"included"`                    // context nodes, sorted
	ExcludedHard     []string `json:"excluded_hard,omitempty"`     // never recovered
	ExcludedSoft     []string `json:"excluded_soft,omitempty"`     // recoverable with token headroom
	RecoveredSoft    []string `json:"recovered_soft,omitempty"`    // excluded softly, taken back
	DepsAdded        []string `json:"deps_added,omitempty"`        // needed by an included node
	OverridesApplied []string `json:"overrides_applied,omitempty"` // urgency, safety
	TotalIncluded    int      `json:"total_included,omitempty"`    // nodes
	EstTokens        int      `json:"est_tokens,omitempty"`        // estimate for the included nodes
	Warnings         []string `json:"warnings,omitempty"`          // unknown mode, broken configuration, too many nodes
}

// ContextSection is one section of a pack.
type ContextSection struct {
	Type            SectionType   `json:"type"`
	TokenBudget     int           `json:"token_budget"`
	TokenActual     int           `json:"token_actual"`
	Items           []ContextItem `json:"items"`
	SelectionReason string        `json:"selection_reason"`
}

// ContextItem is one shown item.
type ContextItem struct {
	ID            string            `json:"id"`
	SourceType    SourceType        `json:"source_type"`
	ContentRef    string            `json:"content_ref"` // "log:<position>"
	SummaryRef    string            `json:"summary_ref,omitempty"`
	Score         float64           `json:"score"`
	SecurityLabel string            `json:"security_label,omitempty"` // labels joined by ","; not in the log
	PIIFlags      []string          `json:"pii_flags"`                // none in the log
	Where         string            `json:"where,omitempty"`          // of a document, code or a commit: path and line, or commit, date and author; none in the log
	Evidence      RetrievalEvidence `json:"evidence"`
	Tokens        int               `json:"tokens"`
	Redactions    []string          `json:"redactions,omitempty"` // JSON paths
	Spans         []Span            `json:"spans,omitempty"`      // of the content, as policy lets the requester see it, that are shown; absent: the whole

	Obligations *Obligations `json:"obligations,omitempty"` // what had to be done before it was shown
}

// RetrievalEvidence says why an item was found and ranked where it is.
type RetrievalEvidence struct {
	Retriever        string             `json:"retriever"`       // keyword, vector, encoder, graph, tool-rag, recency; the strongest one
	Query            string             `json:"query,omitempty"` // the question, its first 256 characters; not in the log
	Filters          map[string]string  `json:"filters"`
	Reranker         string             `json:"reranker"`
	Score            float64            `json:"score"`
	Bears            float64            `json:"bears,omitempty"` // how much the item by itself says that it bears on the question, whatever else was found
	PolicyDecisionID string             `json:"policy_decision_id"`
	Span             *Span              `json:"span,omitempty"`
	Channels         map[string]Channel `json:"channels,omitempty"` // per retriever
	Signals          map[string]float64 `json:"signals,omitempty"`  // the H4R signals
}

// Channel is one retriever's opinion of an item.
type Channel struct {
	Rank  int     `json:"rank"` // from 1; 0 when only the score was looked up
	Score float64 `json:"score"`
	Z     float64 `json:"z"`
}

// ProvenanceRef points from a pack to a log entry of an item.
type ProvenanceRef struct {
	ItemID   string `json:"item_id"`
	Position int64  `json:"position"`
	Leaf     string `json:"leaf"` // hex leaf hash
	Signer   string `json:"signer"`
	Source   string `json:"source_uri,omitempty"` // where it was read; not in the log
}

// DropReason is why a candidate is not in the pack.
type DropReason string

// The drop reasons.
const (
	DropBudget     DropReason = "budget"
	DropRank       DropReason = "rank"
	DropScore      DropReason = "min_score"
	DropConfidence DropReason = "low_confidence"
	DropRecalled   DropReason = "recalled"
	DropDuplicate  DropReason = "duplicate"
	DropNewer      DropReason = "superseded_by_newer"
	DropStale      DropReason = "stale"
	DropPolicy     DropReason = "policy"
	DropOffTopic   DropReason = "off_topic"
	DropInjection  DropReason = "injection"
	DropRelevance  DropReason = "relevance"
	DropSuperseded DropReason = "superseded"
	DropErased     DropReason = "erased"
	DropSummarised DropReason = "summarised"
)

// ReasonRedacted is the detail of an item that policy allows and that it has redacted until nothing of the content is left.
const ReasonRedacted = "redacted_whole"

// Sentence says a reason in words.
func (r DropReason) Sentence() string {
	switch r {
	case DropBudget:
		return "it did not fit the token budget"
	case DropRank:
		return "other items are worth more"
	case DropScore:
		return "it scores less than is asked for"
	case DropConfidence:
		return "its writer gave it little confidence"
	case DropRecalled:
		return "it is a pack that was written back"
	case DropDuplicate:
		return "a better item says the same"
	case DropNewer:
		return "a newer version of it is shown"
	case DropStale:
		return "it has expired, or is not valid at this time"
	case DropPolicy:
		return "policy does not allow it for this principal"
	case DropOffTopic:
		return "it is not about the question"
	case DropInjection:
		return "it looks like an injected instruction"
	case DropRelevance:
		return "this turn does not need its kind of context"
	case DropSuperseded:
		return "a newer item replaces it"
	case DropErased:
		return "it was erased"
	case DropSummarised:
		return "an extract stands for the whole"
	}
	return string(r)
}

// DropReport names what was left out. Policy denials are counts by reason in the
// requester's copy; the auditor's copy (data of context.dropped) has their ids.
type DropReport struct {
	ID             string         `json:"id"`
	PackID         string         `json:"pack_id"`
	DroppedItemIDs []string       `json:"dropped_item_ids"`
	Reason         string         `json:"reason"` // one sentence over all drops
	TokenSavings   int            `json:"token_savings"`
	CreatedAt      time.Time      `json:"created_at"`
	Drops          []Drop         `json:"drops"`
	Denied         map[string]int `json:"denied,omitempty"` // policy reason → count
}

// What Drop.ItemID is where a pack cuts a text of the request: the JSON pointer of the field, which no item has as its id.
const (
	DropTask        = "/payload/task"
	DropUserMessage = "/payload/user_message"
)

// OfRequest reports whether a drop is of a text of the request, not of an item. Its span is of that text.
func (d Drop) OfRequest() bool { return d.ItemID == DropTask || d.ItemID == DropUserMessage }

// Drop is one dropped item.
type Drop struct {
	ItemID string     `json:"item_id"`
	Reason DropReason `json:"reason"`
	Detail string     `json:"detail,omitempty"`
	Score  float64    `json:"score"`
	Tokens int        `json:"tokens"`
	Span   *Span      `json:"span,omitempty"`  // of the content as policy lets the requester see it; nil: the whole item
	Place  int        `json:"place,omitempty"` // in the order of choice, from 1; 0: it took no part

	Signals     map[string]float64 `json:"signals,omitempty"`     // the H4R signals; with include_scores
	Explanation string             `json:"explanation,omitempty"` // why, in a sentence; with include_scores
	Change      string             `json:"change,omitempty"`      // what would have shown it; with include_scores
}

// PolicyDecision is the data of policy.decided: every verdict of one request.
type PolicyDecision struct {
	ID        string    `json:"id"`
	RequestID string    `json:"request_id"`
	Principal string    `json:"principal"`
	Purpose   string    `json:"purpose,omitempty"`
	Action    string    `json:"action"`
	Revision  string    `json:"revision"`   // bundle revision
	InputHash string    `json:"input_hash"` // hex SHA-256 of the policy input
	CreatedAt time.Time `json:"created_at"`
	Verdicts  []Verdict `json:"verdicts"`

	Pushdown []Cond `json:"pushdown,omitempty"` // what an item had to pass to be looked at; what did not has no verdict
}

// Verdict is policy's answer for one item.
type Verdict struct {
	ID             string   `json:"id"`
	ItemID         string   `json:"item_id"`
	Allow          bool     `json:"allow"`
	Reason         string   `json:"reason"`
	Redact         bool     `json:"redact,omitempty"`
	RedactedFields []string `json:"redactedFields,omitempty"` // JSON paths, $.content…
	Exception      string   `json:"exception,omitempty"`      // the governed exception that lifted the denial or the redaction

	Obligations *Obligations `json:"obligations,omitempty"` // what had to be done before it was shown
}

// What Obligations.PII may be.
const (
	PIIRedact       = "redact"       // [email]
	PIIPseudonymise = "pseudonymise" // [email:k3f9q2ab7c], the same for the same value of a tenant
)

// Obligations are what policy demands of an item it allows, besides the fields it
// redacts.
type Obligations struct {
	PII       string   `json:"pii,omitempty"`       // redact or pseudonymise the personal data that is found; "": neither
	Types     []string `json:"types,omitempty"`     // of personal data; none: all that are looked for
	Summarise int      `json:"summarise,omitempty"` // show an extract of at most so many tokens; 0: the whole
}

// Equal reports whether p demands the same.
func (o Obligations) Equal(p Obligations) bool {
	return o.PII == p.PII && o.Summarise == p.Summarise && slices.Equal(o.Types, p.Types)
}

// IsZero reports whether nothing is demanded.
func (o Obligations) IsZero() bool { return o.PII == "" && len(o.Types) == 0 && o.Summarise == 0 }

// Pseudonymises reports whether personal data are replaced by aliases.
func (o Obligations) Pseudonymises() bool { return o.PII == PIIPseudonymise }

// Covers reports whether what was shown under o may be shown where now is demanded.
func (o Obligations) Covers(now Obligations) bool {
	if now.Summarise > 0 && (o.Summarise == 0 || o.Summarise > now.Summarise) {
		return false
	}
	if now.PII == "" || o.PII == "" {
		return now.PII == ""
	}
	if now.PII == PIIRedact && o.PII != PIIRedact {
		return false
	}
	if len(o.Types) == 0 {
		return true
	}
	return len(now.Types) > 0 && !slices.ContainsFunc(now.Types, func(t string) bool { return !slices.Contains(o.Types, t) })
}

// Refusal is the data of request.refused.
type Refusal struct {
	RequestID string `json:"request_id"`
	Principal string `json:"principal"`
	Code      Code   `json:"code"`
	Message   string `json:"message"`
}
