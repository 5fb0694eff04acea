package candidate

import (
	"math"
	"strings"
	"time"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// Visible is the part of an item that one principal may see for one request. It is built
// field by field right after the policy decision, from the record as the decision's
// redactions and obligations leave it, and holds no way back to that record. Everything
// that ranks, counts, packs, renders or answers takes a Visible. It MUST NOT be changed:
// candidates share it.
//
// Of the embedded item, the tenant, references to indexes and the writer's own summary
// are always absent. Of a masked item the checksum, the novelty and the source address
// are absent as well: each of them would confirm a guess at the hidden part.
type Visible struct {
	schemas.MemoryItem
	Position     int64 // log position of the current version
	First        int64 // log position of the first version
	RecordedAt   time.Time
	Terms        int // stemmed words of "speaker: text" as indexed
	Counted      int // cl100k tokens of "speaker: text" plus newline; 0: unknown
	AccessCount  int64
	SupersededBy string // id of the item that replaced it; "" for a current one
	Facets       schemas.Facets
	Writer       string // agent whose event the item is; "" of what Satchel made
	Author       string // Writer, where a registry says who writes; else ""
	Masked       bool   // part of the item may be hidden
	Redacted     bool   // part of what is shown is hidden
}

// NewVisible returns what may be seen of r. The caller has applied the decision's
// redactions and obligations to r already; masked reports whether there were any.
func NewVisible(r *schemas.Record, masked bool) Visible {
	v := Visible{
		MemoryItem: schemas.MemoryItem{
			ID: r.ID, Type: r.Type, Kind: r.Kind,
			Scope:     schemas.MemoryScope{Org: r.Scope.Org, Project: r.Scope.Project, Session: r.Scope.Session},
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, TTL: r.TTL, DecayFn: r.DecayFn,
			Confidence: r.Confidence, Importance: r.Importance, Trust: r.Trust, Sensitivity: r.Sensitivity, Novelty: r.Novelty,
			Provenance:    schemas.Provenance{SourceURI: r.Provenance.SourceURI, Checksum: r.Provenance.Checksum},
			SecurityLabel: r.SecurityLabel, PIIFlags: r.PIIFlags,
			Content: r.Content, Category: r.Category, Session: r.Session, Seq: r.Seq,
			Speaker: shownName(r.Speaker), Role: r.Role, ValidFrom: r.ValidFrom, ValidTo: r.ValidTo,
			Links: r.Links, Attributes: r.Attributes,
		},
		Position: r.Position, First: r.First, RecordedAt: r.RecordedAt, Writer: r.Author, Terms: r.Terms, Counted: r.Tokens,
		AccessCount: r.AccessCount, SupersededBy: r.SupersededBy, Facets: r.Facets, Masked: masked,
	}
	if masked {
		v.Provenance.Checksum = ""
		v.Novelty = nil
		v.Counted = 0
	}
	return v
}

// shownName is a name, "" where a reader sees nothing of it.
func shownName(name string) string {
	if strings.TrimSpace(language.Bare(name)) == "" {
		return ""
	}
	return name
}

// OtherAuthor returns who wrote an item; "" where that is its speaker, or nobody is known.
func (v *Visible) OtherAuthor() string {
	if strings.EqualFold(v.Author, v.Speaker) {
		return ""
	}
	return v.Author
}

// FileURI is how the address of what was read from a file begins.
const FileURI = "file:"

// FromFile reports whether an item was read from a file.
func (v *Visible) FromFile() bool { return strings.HasPrefix(v.Provenance.SourceURI, FileURI) }

// Age returns the days since the item was made.
func (v *Visible) Age(now time.Time) float64 { return max(0, now.Sub(v.CreatedAt).Hours()/24) }

// Decay returns what the item's decay_fn has left of it, 0–1; 1 without one. lambda is the decay a
// day of an exponential one that names none.
func (v *Visible) Decay(now time.Time, lambda float64) float64 {
	d := v.DecayFn
	age := v.Age(now)
	switch {
	case d == nil || d.Kind == "none":
		return 1
	case d.Kind == "step" && age <= d.Days:
		return 1
	case d.Kind == "step", d.Kind == "linear" && d.Days <= 0:
		return 0
	case d.Kind == "linear":
		return max(0, 1-age/d.Days)
	case d.Lambda > 0:
		lambda = d.Lambda
	}
	return math.Exp(-lambda * age)
}

// Version is an item as it was at a log position.
type Version struct {
	ID       string
	Position int64
}

// Authorized is what policy decided on items, in the order they were given in.
type Authorized struct {
	Visible  []*Visible         // nil: the item is not shown
	Verdicts []*schemas.Verdict // nil of what policy was not asked about
	Own      []bool             // the principal sees more or less of the item than the indexes hold
}
