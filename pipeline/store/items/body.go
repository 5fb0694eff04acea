package items

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"satchel/schemas"
)

// bodyVersion is the first byte of an encoded body.
const bodyVersion = 1

// Flags of an encoded body.
const (
	bodySession  = 1 << iota // the item's session field holds the head's session
	bodyScopeOwn             // the scope's session is not the head's
	bodyJSON                 // content is JSON
	bodyDecay
	bodySummary
	bodyConfidence
	bodyImportance
	bodyTrust
	bodySensitivity
	bodyNovelty
)

// AppendBody appends what a record holds beyond its id, tokens and head.
func AppendBody(b []byte, r *schemas.Record) []byte {
	session, flags := r.SessionID(), uint64(0)
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
	b = binary.AppendUvarint(append(b, bodyVersion), flags)
	b = appendString(b, string(r.Type))
	b = appendString(b, string(r.Kind))
	for _, s := range [...]string{r.Scope.Tenant, r.Scope.Org, r.Scope.Project} {
		b = appendString(b, s)
	}
	if r.Scope.Session != session {
		b = appendString(b, r.Scope.Session)
	}
	b = appendTime(b, r.UpdatedAt)
	b = binary.AppendVarint(b, r.TTL)
	if d := r.DecayFn; d != nil {
		b = appendFloat(appendFloat(appendString(b, d.Kind), d.Lambda), d.Days)
	}
	for _, p := range numbers {
		if p != nil {
			b = appendFloat(b, *p)
		}
	}
	b = appendRest(b, r)
	return appendTime(b, r.RecordedAt)
}

func appendRest(b []byte, r *schemas.Record) []byte {
	p := &r.Provenance
	b = appendList(appendString(appendString(appendString(b, p.SourceURI), p.Checksum), p.Signer), p.PolicyTags)
	b = appendList(b, r.SecurityLabel)
	b = appendList(b, r.PIIFlags)
	b = appendString(b, r.EmbeddingRef)
	b = appendList(b, r.GraphRefs)
	b = appendString(b, r.Content.Text())
	if s := r.Summary; s != nil {
		b = binary.AppendUvarint(appendString(b, s.Text), uint64(len(s.DroppedSpans)))
		for _, span := range s.DroppedSpans {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(span.Start)), int64(span.End))
		}
	}
	b = appendString(b, r.Category)
	b = appendTime(appendTime(b, r.ValidFrom), r.ValidTo)
	b = appendLinks(b, r.Links)
	b = appendString(b, r.Signer)
	return appendString(b, string(r.Attributes))
}

// DecodeRecord puts a record together from its columns; an error wraps ErrCorrupt.
func DecodeRecord(id string, tokens int, head, body []byte) (schemas.Record, error) {
	h, err := DecodeHead(head)
	if err != nil {
		return schemas.Record{}, err
	}
	r := schemas.Record{
		Position: h.Position, Terms: h.Terms, Tokens: tokens,
		AccessCount: h.AccessCount, LastAccess: h.LastAccess, SupersededBy: h.SupersededBy, Facets: h.Facets,
	}
	r.ID, r.CreatedAt, r.Seq, r.Speaker, r.Role = id, h.Created, h.Seq, h.Speaker, h.Role
	c := &cursor{s: string(body)}
	c.version(bodyVersion)
	c.body(&r, h.Session)
	for _, l := range h.Added {
		if !slices.Contains(r.Links, l) {
			r.Links = append(r.Links, l)
		}
	}
	return r, c.end("body")
}

func (c *cursor) body(r *schemas.Record, session string) {
	flags := c.uvarint()
	r.Type, r.Kind = schemas.MemoryType(c.str()), schemas.Kind(c.str())
	r.Scope = schemas.MemoryScope{Tenant: c.str(), Org: c.str(), Project: c.str(), Session: session}
	if flags&bodySession != 0 {
		r.Session = session
	}
	if flags&bodyScopeOwn != 0 {
		r.Scope.Session = c.str()
	}
	r.UpdatedAt = c.time()
	r.TTL = c.varint()
	if flags&bodyDecay != 0 {
		r.DecayFn = &schemas.DecayFn{Kind: c.str(), Lambda: c.float(), Days: c.float()}
	}
	for i, p := range [...]**float64{&r.Confidence, &r.Importance, &r.Trust, &r.Sensitivity, &r.Novelty} {
		if flags&(bodyConfidence<<i) != 0 {
			v := c.float()
			*p = &v
		}
	}
	c.rest(r, flags)
	r.RecordedAt = c.time()
}

func (c *cursor) rest(r *schemas.Record, flags uint64) {
	r.Provenance = schemas.Provenance{SourceURI: c.str(), Checksum: c.str(), Signer: c.str(), PolicyTags: c.list()}
	r.SecurityLabel, r.PIIFlags = c.list(), c.list()
	r.EmbeddingRef = c.str()
	r.GraphRefs = c.list()
	if text := c.str(); flags&bodyJSON != 0 {
		r.Content = schemas.JSONContent(json.RawMessage(text))
	} else {
		r.Content = schemas.TextContent(text)
	}
	if flags&bodySummary != 0 {
		r.Summary = &schemas.Summary{Text: c.str()}
		for range c.count() {
			r.Summary.DroppedSpans = append(r.Summary.DroppedSpans, schemas.Span{Start: int(c.varint()), End: int(c.varint())})
		}
	}
	r.Category = c.str()
	r.ValidFrom, r.ValidTo = c.time(), c.time()
	r.Links = c.links()
	r.Signer = c.str()
	if a := c.str(); a != "" {
		r.Attributes = json.RawMessage(a)
	}
}
