package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Kind says what an item is; it decides the pack's source type and section.
type Kind string

// The kinds.
const (
	KindMemory     Kind = "memory"
	KindSummary    Kind = "summary"
	KindKnowledge  Kind = "knowledge"
	KindCode       Kind = "code"
	KindExperience Kind = "experience"
	KindValue      Kind = "value"
	KindCommit     Kind = "commit"
	KindTool       Kind = "tool"
)

// MemoryType is the memory taxonomy of an item.
type MemoryType string

// The memory types.
const (
	Episodic   MemoryType = "episodic"
	Procedural MemoryType = "procedural"
	Semantic   MemoryType = "semantic"
)

// SourceType is a context item's origin as the pack names it.
type SourceType string

// The source types.
const (
	SourceMemory    SourceType = "memory"
	SourceKnowledge SourceType = "knowledge"
	SourceTool      SourceType = "tool"
)

// SectionType names a section of a pack.
type SectionType string

// The section types, in the order a pack shows them. Safety reminders are a second
// section of type policy.
const (
	SectionUser      SectionType = "user"
	SectionTask      SectionType = "task"
	SectionTools     SectionType = "tools"
	SectionKnowledge SectionType = "knowledge"
	SectionMemory    SectionType = "memory"
	SectionPolicy    SectionType = "policy"
)

// KindInfo is a row of the kind table.
type KindInfo struct {
	Kind        Kind
	SourceType  SourceType
	Section     SectionType
	ContextType string // the assembler's name for it, "" for none
}

// Kinds returns the kind table, one row a kind, in a fixed order.
func Kinds() []KindInfo { return slices.Clone(kinds[:]) }

var kinds = [...]KindInfo{
	{KindMemory, SourceMemory, SectionMemory, "memories"},
	{KindSummary, SourceMemory, SectionMemory, "memories"},
	{KindKnowledge, SourceKnowledge, SectionKnowledge, "memories"},
	{KindCode, SourceKnowledge, SectionKnowledge, "code"},
	{KindExperience, SourceMemory, SectionMemory, "experiences"},
	{KindValue, SourceMemory, SectionMemory, "values"},
	{KindCommit, SourceKnowledge, SectionKnowledge, "commits"},
	{KindTool, SourceTool, SectionTools, ""},
}

// Info returns the row of k, and false for a kind that is not in the table.
func (k Kind) Info() (KindInfo, bool) {
	for i := range kinds {
		if kinds[i].Kind == k {
			return kinds[i], true
		}
	}
	return KindInfo{}, false
}

// Rel is the relation of a link.
type Rel string

// The relations. A link reads "item REL target".
const (
	RelCausedBy    Rel = "caused_by"
	RelSupersedes  Rel = "supersedes"
	RelMentions    Rel = "mentions"
	RelPartOf      Rel = "part_of"
	RelFollows     Rel = "follows"
	RelDerivedFrom Rel = "derived_from"
)

// Link is a directed edge from the item that holds it to another item.
type Link struct {
	Rel Rel    `json:"rel"`
	To  string `json:"to"`
}

// MemoryScope says whose an item is. Tenant must equal the subject's tenant.
type MemoryScope struct {
	Tenant  string `json:"tenant"`
	Org     string `json:"org,omitempty"`
	Project string `json:"project,omitempty"`
	Session string `json:"session,omitempty"`
}

// DecayFn overrides the profile's recency decay for one item.
// exponential: exp(-Lambda·age_days); linear: max(0, 1 − age_days/Days);
// step: 1 until Days, then 0; none: 1.
type DecayFn struct {
	Kind   string  `json:"kind"`
	Lambda float64 `json:"lambda,omitempty"`
	Days   float64 `json:"days,omitempty"`
}

// Provenance says where an item came from.
type Provenance struct {
	SourceURI  string   `json:"source_uri,omitempty"`
	Checksum   string   `json:"checksum,omitempty"` // "sha256:<hex>" of the content; filled at write when empty
	Signer     string   `json:"signer,omitempty"`   // key id; "unsigned" when there is no signature
	PolicyTags []string `json:"policy_tags,omitempty"`
}

// Summary is a compacted form of an item with a pointer to what it leaves out.
type Summary struct {
	Text         string `json:"text"`
	DroppedSpans []Span `json:"dropped_spans,omitempty"`
}

// Span is a half-open range [Start, End) of bytes in an item's text.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Unsigned is the signer of an item that carries no signature.
const Unsigned = "unsigned"

// MemoryItem is what an agent remembers. Validate says what is required.
type MemoryItem struct {
	ID            string          `json:"id"`
	Type          MemoryType      `json:"type"`
	Kind          Kind            `json:"kind"`
	Scope         MemoryScope     `json:"scope"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at,omitzero"`
	TTL           int64           `json:"ttl,omitempty"` // seconds from created_at; 0 never expires
	DecayFn       *DecayFn        `json:"decay_fn,omitempty"`
	Confidence    *float64        `json:"confidence,omitempty"`  // 0–1, default 1
	Importance    *float64        `json:"importance,omitempty"`  // 0–1, default 0.5
	Trust         *float64        `json:"trust,omitempty"`       // 0–1, default 0.5
	Sensitivity   *float64        `json:"sensitivity,omitempty"` // 0–1, default 0
	Novelty       *float64        `json:"novelty,omitempty"`     // 0–1, default computed
	Provenance    Provenance      `json:"provenance,omitzero"`
	SecurityLabel []string        `json:"security_label"` // "name:value" ABAC labels, at least one
	PIIFlags      []string        `json:"pii_flags,omitempty"`
	EmbeddingRef  string          `json:"embedding_ref,omitempty"`
	GraphRefs     []string        `json:"graph_refs,omitempty"`
	Content       Content         `json:"content"`
	Summary       *Summary        `json:"summary,omitempty"`
	Category      string          `json:"category,omitempty"`
	Session       string          `json:"session,omitempty"`
	Seq           int64           `json:"seq,omitempty"` // order in the session; 0 means log order
	Speaker       string          `json:"speaker,omitempty"`
	Role          string          `json:"role,omitempty"` // user, assistant, tool, system
	ValidFrom     time.Time       `json:"valid_from,omitzero"`
	ValidTo       time.Time       `json:"valid_to,omitzero"`
	Links         []Link          `json:"links,omitempty"`
	Signer        string          `json:"signer,omitempty"`
	Attributes    json.RawMessage `json:"attributes,omitempty"` // kind-specific JSON object
}

// TrustOrDefault is the trust of an item, 0.5 without one.
func (m *MemoryItem) TrustOrDefault() float64 {
	if m.Trust == nil {
		return 0.5
	}
	return *m.Trust
}

// ExpiresAt returns when the item's ttl runs out; the zero time means never.
func (m *MemoryItem) ExpiresAt() time.Time {
	if m.TTL <= 0 {
		return time.Time{}
	}
	return m.CreatedAt.Add(time.Duration(m.TTL) * time.Second)
}

// SessionID returns the item's session, whichever of the two fields holds it.
func (m *MemoryItem) SessionID() string {
	if m.Session != "" {
		return m.Session
	}
	return m.Scope.Session
}

// IsTurn reports whether the item is something somebody said in a conversation.
func (m *MemoryItem) IsTurn() bool {
	said := m.Speaker != "" || m.Role != ""
	return said && m.Kind == KindMemory && m.SessionID() != ""
}

// Content is an item's canonical payload: a text, or a JSON object or array.
type Content struct {
	text string
	json json.RawMessage
}

// TextContent returns a textual content.
func TextContent(s string) Content { return Content{text: s} }

// JSONContent returns a structured content; raw must be a JSON object or array.
func JSONContent(raw json.RawMessage) Content { return Content{json: raw} }

// IsZero reports whether there is no content.
func (c Content) IsZero() bool { return c.text == "" && len(c.json) == 0 }

// Raw returns the JSON of a structured content, nil for a text.
func (c Content) Raw() json.RawMessage { return c.json }

// Text returns what is searched and shown: the text itself, or the compact JSON.
func (c Content) Text() string {
	if c.json != nil {
		return string(c.json)
	}
	return c.text
}

// MarshalJSON writes a JSON string, object or array.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.json != nil {
		return c.json, nil
	}
	return json.Marshal(c.text)
}

// UnmarshalJSON accepts a JSON string, object or array; null changes nothing.
func (c *Content) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return errors.New("content is empty")
	}
	switch raw[0] {
	case 'n':
		return nil
	case '"':
		c.json = nil
		return json.Unmarshal(raw, &c.text)
	case '{', '[':
		var buf bytes.Buffer
		if err := json.Compact(&buf, raw); err != nil {
			return err
		}
		*c = Content{json: buf.Bytes()}
		return nil
	}
	return errors.New("content must be a string, an object or an array")
}

// Record is an item as Satchel keeps it: the item and what the log adds to it.
type Record struct {
	MemoryItem
	Position     int64     // log position of the version that is current
	First        int64     // log position of the first version
	RecordedAt   time.Time // when the log took it
	Terms        int       // stemmed non-stop keyword terms of "speaker: text"; what neighbour damping divides by
	Tokens       int       // cl100k tokens of "speaker: text" plus newline; 0 until counted
	AccessCount  int64
	LastAccess   time.Time
	SupersededBy string // id of the item that replaced it, "" for a current one
	Author       string // agent whose event this version is; "" of what Satchel made, or of a row that has none
	Facets       Facets
}

// Facets are the fields of an item that filters and policies see. They are kept
// beside every index entry, so they hold no content.
type Facets struct {
	Kind        Kind       `json:"kind"`
	Type        MemoryType `json:"type"`
	Category    string     `json:"category,omitempty"`
	Session     string     `json:"session,omitempty"`
	Level       Level      `json:"level"`
	Labels      []string   `json:"labels,omitempty"`   // all labels, sorted
	Groups      []string   `json:"groups,omitempty"`   // from group:NAME labels; empty: everyone
	Purposes    []string   `json:"purposes,omitempty"` // from purpose:NAME labels, in lower case; empty: every purpose
	PII         bool       `json:"pii,omitempty"`
	Credentials bool       `json:"credentials,omitempty"`
	Trust       float64    `json:"trust"`
	Sensitivity float64    `json:"sensitivity"`
	Signer      string     `json:"signer,omitempty"`
}
