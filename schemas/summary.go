package schemas

// SummaryLevel says what a summary is of.
type SummaryLevel string

// The levels, each citing the ones before it.
const (
	SummaryOfItem    SummaryLevel = "item"
	SummaryOfCluster SummaryLevel = "cluster" // items that stand together
	SummaryOfSession SummaryLevel = "session"
)

// SummaryAttributes say what an item of kind summary was made of. Links with
// derived_from name the items.
type SummaryAttributes struct {
	Level  SummaryLevel  `json:"level,omitempty"`  // item, cluster or session
	Method string        `json:"method,omitempty"` // extractive, or the model that wrote it
	Writer string        `json:"writer,omitempty"` // who wrote what it was made of, where a registry of principals knows it
	Lines  []SummaryLine `json:"lines,omitempty"`  // in the order of the text
}

// SummaryLine is a line of a summary and what it was taken from.
type SummaryLine struct {
	Span  Span      `json:"span"`  // of the summary's text
	Cites []SpanRef `json:"cites"` // at least one
}

// SpanRef points at a span of an item's text.
type SpanRef struct {
	ItemID string `json:"item_id"`
	Span   Span   `json:"span"` // of the item's text
}

// Summarised returns the attributes of an item of kind summary.
func (m *MemoryItem) Summarised() (SummaryAttributes, error) {
	return attributesOf[SummaryAttributes](m)
}
