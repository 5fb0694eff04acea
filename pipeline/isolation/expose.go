// Package isolation decides which fields of a candidate may leave.
//
// It promises that what it returns was built field by field from a list, not by
// removing fields from something larger: a field nobody listed cannot leave. Only
// candidates that are kept and that policy allows are exposed.
//
// Heavy content leaves as a handle that a [Sealer] signed (handle.go): a name, no permission.
package isolation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// ErrClosed is returned for a candidate that may not be shown.
var ErrClosed = errors.New("candidate may not be shown")

// Exposed is what may leave of one candidate.
type Exposed struct {
	Result     schemas.ResultItem
	Item       schemas.ContextItem
	Section    schemas.SectionType
	Provenance schemas.ProvenanceRef
}

// Options say what of the scores is shown, and what evidence names.
type Options struct {
	Scores   bool
	Query    string
	Reranker string
	Filters  map[string]string
}

// Expose returns what may leave of c, whose content is redacted already. It refuses a
// candidate that is dropped, has no verdict that allows it, or was not judged.
func Expose(c *candidate.Candidate, o Options) (Exposed, error) {
	if open := c.Kept() && c.Verdict.Allow; !open || !c.Judged() {
		return Exposed{}, fmt.Errorf("expose item %q: %w", c.ID, ErrClosed)
	}
	r := c.Visible
	info, ok := r.Kind.Info()
	if !ok {
		info = schemas.KindInfo{Kind: r.Kind, SourceType: schemas.SourceMemory, Section: schemas.SectionMemory}
	}
	score := roundScore(c.Score)
	signals := c.Signals.Map()
	sources, strongest := listRetrievers(c, info.SourceType)
	from := r.Provenance.SourceURI
	if c.Verdict.Redact {
		from = ""
	}
	out := Exposed{
		Section: info.Section,
		Result: schemas.ResultItem{
			ID: r.ID, Content: c.Content,
			Metadata: schemas.ResultMetadata{
				Source: sources, Redacted: c.Redacted, Flagged: chooseFlag(c), Withheld: c.Withheld, ByteSize: len(c.Content.Text()), Kind: r.Kind,
				CreatedAt: r.CreatedAt, Position: r.Position, SourceURI: from,
				Type: r.Type, Category: r.Category, Confidence: readConfidence(r), Session: r.SessionID(), Speaker: r.Speaker, Author: r.Author,
			},
		},
		Item: schemas.ContextItem{
			ID: r.ID, SourceType: info.SourceType, ContentRef: "log:" + strconv.FormatInt(r.Position, 10),
			Score: score, SecurityLabel: strings.Join(r.SecurityLabel, ","), PIIFlags: r.PIIFlags,
			Tokens: c.Tokens, Redactions: c.Verdict.RedactedFields, Spans: listSpans(c), SummaryRef: findSummary(c), Obligations: c.Verdict.Obligations,
			Evidence: schemas.RetrievalEvidence{
				Retriever: strongest, Query: o.Query, Filters: o.Filters, Reranker: o.Reranker, Score: score, Bears: roundScore(c.Signals.Bears()),
				PolicyDecisionID: c.Verdict.ID, Span: c.Span, Channels: c.Channels.Map(), Signals: signals,
			},
		},
		Provenance: schemas.ProvenanceRef{ItemID: r.ID, Position: r.Position, Signer: r.Facets.Signer, Source: from},
	}
	if c.Quote != nil {
		out.Item.Where = strings.TrimRight(c.Quote.Head, " ›:")
		out.Result.Comment = c.Quote.Comment
	}
	if slices.Contains(c.Withheld, "pii_flags") {
		out.Item.Redactions = nil // they are named by the flags
	}
	if out.Item.PIIFlags == nil {
		out.Item.PIIFlags = []string{}
	}
	if o.Scores {
		out.Result.Score = &score
		out.Result.Metadata.Signals = signals
	}
	return out, nil
}

// chooseFlag says that a content is to be quoted alone.
func chooseFlag(c *candidate.Candidate) schemas.Flag {
	switch {
	case c.Suspect:
		return schemas.FlagInjection
	case c.Unjudged:
		return schemas.FlagUnjudged
	}
	return ""
}

// readConfidence is the writer's, 1 when the writer gave none.
func readConfidence(r *candidate.Visible) float64 {
	if r.Confidence == nil {
		return 1
	}
	return *r.Confidence
}

// listRetrievers returns the names of those that found the item, joined, and the one that
// spoke for it most.
func listRetrievers(c *candidate.Candidate, source schemas.SourceType) (all, strongest string) {
	best := math.Inf(-1)
	for _, name := range []string{"keyword", "vector", "encoder", "graph", "recency"} {
		ch, ok := c.Channels.Of(name)
		if !ok || ch.Rank == 0 {
			continue
		}
		if all != "" {
			all += "+"
		}
		all += name
		if ch.Z > best || strongest == "" {
			best = ch.Z
			strongest = name
		}
	}
	if all == "" {
		return "neighbour", "graph" // it stands beside what was found in its session
	}
	if source == schemas.SourceTool && (strongest == "keyword" || strongest == "vector" || strongest == "encoder") {
		strongest = "tool-rag"
	}
	return all, strongest
}

// listSpans are those of the content that are shown, nil for the whole.
func listSpans(c *candidate.Candidate) []schemas.Span {
	if c.Extract == nil {
		return nil
	}
	return c.Extract.Spans()
}

// findSummary is the kept summary that an extract goes with.
func findSummary(c *candidate.Candidate) string {
	if c.Extract == nil {
		return ""
	}
	return c.Extract.Summary
}

func roundScore(x float64) float64 { return math.Round(x*1e4) / 1e4 }
