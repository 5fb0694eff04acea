package items

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"satchel/pipeline/store/internal/columns"
	"satchel/schemas"
)

// The first byte of an encoded payload. One without an author is from before trust was granted.
const (
	payloadWithoutAuthor = 1
	payloadVersion       = 2
)

// Flags of an encoded payload.
const (
	bodySession  = 1 << iota // the item's session field holds the metadata's session
	bodyScopeOwn             // the scope's session is not the metadata's
	bodyJSON                 // content is JSON
	bodyDecay
	bodySummary
	bodyConfidence
	bodyImportance
	bodyTrust
	bodySensitivity
	bodyNovelty
)

// AppendPayload appends what a record holds beyond its id, tokens and head.
func AppendPayload(b []byte, r *schemas.Record) []byte {
	session := r.SessionID()
	flags := uint64(0)
	set := func(flag uint64, on bool) {
		if on {
			flags |= flag
		}
	}
	numbers := [...]*float64{r.Confidence, r.Importance, r.Trust, r.Sensitivity, r.Novelty}
	set(bodySession, r.Session != "")
	set(bodyScopeOwn, r.Scope.Session != session)
	set(bodyJSON, r.Content.Raw() != nil)
	set(bodyDecay, r.DecayFn != nil)
	set(bodySummary, r.Summary != nil)
	for i, p := range numbers {
		set(bodyConfidence<<i, p != nil)
	}
	b = binary.AppendUvarint(append(b, payloadVersion), flags)
	b = columns.AppendString(b, string(r.Type))
	b = columns.AppendString(b, string(r.Kind))
	for _, s := range [...]string{r.Scope.Tenant, r.Scope.Org, r.Scope.Project} {
		b = columns.AppendString(b, s)
	}
	if r.Scope.Session != session {
		b = columns.AppendString(b, r.Scope.Session)
	}
	b = columns.AppendTime(b, r.UpdatedAt)
	b = binary.AppendVarint(b, r.TTL)
	if d := r.DecayFn; d != nil {
		b = columns.AppendFloat(columns.AppendFloat(columns.AppendString(b, d.Kind), d.Lambda), d.Days)
	}
	for _, p := range numbers {
		if p != nil {
			b = columns.AppendFloat(b, *p)
		}
	}
	b = appendRest(b, r)
	return columns.AppendString(columns.AppendTime(b, r.RecordedAt), r.Author)
}

func appendRest(b []byte, r *schemas.Record) []byte {
	p := &r.Provenance
	b = columns.AppendList(columns.AppendString(columns.AppendString(columns.AppendString(b, p.SourceURI), p.Checksum), p.Signer), p.PolicyTags)
	b = columns.AppendList(b, r.SecurityLabel)
	b = columns.AppendList(b, r.PIIFlags)
	b = columns.AppendString(b, r.EmbeddingRef)
	b = columns.AppendList(b, r.GraphRefs)
	b = columns.AppendString(b, r.Content.Text())
	if s := r.Summary; s != nil {
		b = binary.AppendUvarint(columns.AppendString(b, s.Text), uint64(len(s.DroppedSpans)))
		for _, span := range s.DroppedSpans {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(span.Start)), int64(span.End))
		}
	}
	b = columns.AppendString(b, r.Category)
	b = columns.AppendTime(columns.AppendTime(b, r.ValidFrom), r.ValidTo)
	b = columns.AppendLinks(b, r.Links)
	b = columns.AppendString(b, r.Signer)
	return columns.AppendString(b, string(r.Attributes))
}

// DecodeRecord puts a record together from its columns; an error wraps ErrCorrupt.
func DecodeRecord(id string, tokens int, head, body []byte) (schemas.Record, error) {
	h, err := DecodeMetadata(head)
	if err != nil {
		return schemas.Record{}, err
	}
	r := schemas.Record{
		Position: h.Position, First: h.First, Terms: h.Terms, Tokens: tokens,
		AccessCount: h.AccessCount, LastAccess: h.LastAccess, SupersededBy: h.SupersededBy, Facets: h.Facets,
	}
	r.ID = id
	r.CreatedAt = h.Created
	r.Seq = h.Seq
	r.Speaker = h.Speaker
	r.Role = h.Role
	c := columns.NewCursor(string(body))
	version := c.Byte()
	if version < payloadWithoutAuthor || version > payloadVersion {
		c.Fail()
	}
	readBody(c, &r, h.Session)
	if version == payloadVersion {
		r.Author = c.Str()
	} else if most := schemas.DefaultTrust; r.Facets.Trust > most { // no one granted it
		r.Trust = &most
		r.Facets.Trust = most
	}
	if n, ok := h.Novelty(); ok && r.Novelty == nil {
		r.Novelty = &n
	}
	for _, l := range h.Added {
		if !slices.Contains(r.Links, l) {
			r.Links = append(r.Links, l)
		}
	}
	return r, checkFullyRead(c, "body")
}

func readBody(c *columns.Cursor, r *schemas.Record, session string) {
	flags := c.Uvarint()
	r.Type, r.Kind = schemas.MemoryType(c.Str()), schemas.Kind(c.Str())
	r.Scope = schemas.MemoryScope{Tenant: c.Str(), Org: c.Str(), Project: c.Str(), Session: session}
	if flags&bodySession != 0 {
		r.Session = session
	}
	if flags&bodyScopeOwn != 0 {
		r.Scope.Session = c.Str()
	}
	r.UpdatedAt = c.Time()
	r.TTL = c.Varint()
	if flags&bodyDecay != 0 {
		r.DecayFn = &schemas.DecayFn{Kind: c.Str(), Lambda: c.Float(), Days: c.Float()}
	}
	for i, p := range [...]**float64{&r.Confidence, &r.Importance, &r.Trust, &r.Sensitivity, &r.Novelty} {
		if flags&(bodyConfidence<<i) != 0 {
			v := c.Float()
			*p = &v
		}
	}
	readRest(c, r, flags)
	r.RecordedAt = c.Time()
}

func readRest(c *columns.Cursor, r *schemas.Record, flags uint64) {
	r.Provenance = schemas.Provenance{SourceURI: c.Str(), Checksum: c.Str(), Signer: c.Str(), PolicyTags: c.List()}
	r.SecurityLabel, r.PIIFlags = c.List(), c.List()
	r.EmbeddingRef = c.Str()
	r.GraphRefs = c.List()
	if text := c.Str(); flags&bodyJSON != 0 {
		r.Content = schemas.JSONContent(json.RawMessage(text))
	} else {
		r.Content = schemas.TextContent(text)
	}
	if flags&bodySummary != 0 {
		r.Summary = &schemas.Summary{Text: c.Str()}
		for range c.Count() {
			r.Summary.DroppedSpans = append(r.Summary.DroppedSpans, schemas.Span{Start: int(c.Varint()), End: int(c.Varint())})
		}
	}
	r.Category = c.Str()
	r.ValidFrom, r.ValidTo = c.Time(), c.Time()
	r.Links = c.Links()
	r.Signer = c.Str()
	if a := c.Str(); a != "" {
		r.Attributes = json.RawMessage(a)
	}
}
