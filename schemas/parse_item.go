package schemas

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// parseItem is the fast way to read an item: what it accepts has no unknown or
// repeated names, no nulls and no wrong types, and is what encoding/json reads.
// Validate is still to be called.
func parseItem(data []byte) (MemoryItem, bool) {
	var m MemoryItem
	if !utf8.Valid(data) {
		return m, false
	}
	p := itemParser{scanner{data: data}}
	p.object(func(name []byte) { p.field(&m, name) })
	if p.next(); p.bad || p.pos != len(data) {
		return MemoryItem{}, false
	}
	if m.Content.json != nil && len(walkAt("/content", m.Content.json, anyShape)) > 0 {
		return MemoryItem{}, false
	}
	return m, true
}

// UnmarshalMemoryItem reads an item that was validated when it was written. It is
// json.Unmarshal, several times as fast for what Satchel writes.
func UnmarshalMemoryItem(data []byte, m *MemoryItem) error {
	var ok bool
	if *m, ok = parseItem(data); ok {
		return nil
	}
	return json.Unmarshal(data, m)
}

type itemParser struct{ scanner }

// field reads the value of one of the item's names.
func (p *itemParser) field(m *MemoryItem, name []byte) {
	switch string(name) {
	case "id":
		m.ID = p.text(0)
	case "type":
		m.Type = MemoryType(p.wordText(1))
	case "kind":
		m.Kind = Kind(p.wordText(2))
	case "scope":
		p.once(3)
		p.object(func(name []byte) { p.scopeField(&m.Scope, name) })
	case "created_at":
		p.once(4)
		m.CreatedAt = p.time()
	case "updated_at":
		p.once(5)
		m.UpdatedAt = p.time()
	case "security_label":
		m.SecurityLabel = p.texts(6)
	case "content":
		p.once(7)
		p.content(&m.Content)
	case "category":
		m.Category = p.text(8)
	case "session":
		m.Session = p.text(9)
	case "seq":
		p.once(10)
		m.Seq = p.integer()
	case "speaker":
		m.Speaker = p.text(11)
	case "role":
		m.Role = p.wordText(12)
	case "importance":
		m.Importance = p.number(13)
	case "links":
		p.once(14)
		m.Links = make([]Link, 0, 2)
		p.array(func() { p.link(&m.Links) })
	default:
		p.rareField(m, name)
	}
}

func (p *itemParser) rareField(m *MemoryItem, name []byte) {
	switch string(name) {
	case "ttl":
		p.once(15)
		m.TTL = p.integer()
	case "decay_fn":
		p.once(16)
		m.DecayFn = new(DecayFn)
		p.object(func(name []byte) { p.decayField(m.DecayFn, name) })
	case "confidence":
		m.Confidence = p.number(17)
	case "trust":
		m.Trust = p.number(18)
	case "sensitivity":
		m.Sensitivity = p.number(19)
	case "novelty":
		m.Novelty = p.number(20)
	case "provenance":
		p.once(21)
		p.object(func(name []byte) { p.provenanceField(&m.Provenance, name) })
	case "pii_flags":
		m.PIIFlags = p.texts(22)
	case "embedding_ref":
		m.EmbeddingRef = p.text(23)
	case "graph_refs":
		m.GraphRefs = p.texts(24)
	case "summary":
		p.once(25)
		m.Summary = new(Summary)
		p.object(func(name []byte) { p.summaryField(m.Summary, name) })
	case "valid_from":
		p.once(26)
		m.ValidFrom = p.time()
	case "valid_to":
		p.once(27)
		m.ValidTo = p.time()
	case "signer":
		m.Signer = p.text(28)
	case "attributes":
		p.once(29)
		if p.next() != '{' {
			p.fail()
		}
		m.Attributes = bytes.Clone(p.skip())
	default:
		p.fail()
	}
}

func (p *itemParser) scopeField(s *MemoryScope, name []byte) {
	switch string(name) {
	case "tenant":
		s.Tenant = p.text(0)
	case "org":
		s.Org = p.text(1)
	case "project":
		s.Project = p.text(2)
	case "session":
		s.Session = p.text(3)
	default:
		p.fail()
	}
}

func (p *itemParser) decayField(d *DecayFn, name []byte) {
	switch string(name) {
	case "kind":
		d.Kind = p.text(0)
	case "lambda":
		p.once(1)
		d.Lambda = p.float()
	case "days":
		p.once(2)
		d.Days = p.float()
	default:
		p.fail()
	}
}

func (p *itemParser) provenanceField(v *Provenance, name []byte) {
	switch string(name) {
	case "source_uri":
		v.SourceURI = p.text(0)
	case "checksum":
		v.Checksum = p.text(1)
	case "signer":
		v.Signer = p.text(2)
	case "policy_tags":
		v.PolicyTags = p.texts(3)
	default:
		p.fail()
	}
}

func (p *itemParser) summaryField(s *Summary, name []byte) {
	switch string(name) {
	case "text":
		s.Text = p.text(0)
	case "dropped_spans":
		p.once(1)
		s.DroppedSpans = make([]Span, 0, 2)
		p.array(func() { p.span(&s.DroppedSpans) })
	default:
		p.fail()
	}
}

func (p *itemParser) span(spans *[]Span) {
	var s Span
	p.object(func(name []byte) {
		switch string(name) {
		case "start":
			p.once(0)
			s.Start = int(p.integer())
		case "end":
			p.once(1)
			s.End = int(p.integer())
		default:
			p.fail()
		}
	})
	*spans = append(*spans, s)
}

func (p *itemParser) link(links *[]Link) {
	var l Link
	p.object(func(name []byte) {
		switch string(name) {
		case "rel":
			l.Rel = Rel(p.wordText(0))
		case "to":
			l.To = p.text(1)
		default:
			p.fail()
		}
	})
	*links = append(*links, l)
}

func (p *itemParser) content(c *Content) {
	if p.next() == '"' {
		c.text = p.str()
		return
	}
	raw := p.skip()
	if p.bad || c.UnmarshalJSON(raw) != nil {
		p.fail()
	}
}

func (p *itemParser) text(bit int) string {
	p.once(bit)
	return p.str()
}

// wordText reads a text that is most often one of the contract's own words, which need
// no copy.
func (p *itemParser) wordText(bit int) string {
	p.once(bit)
	raw := p.raw()
	switch string(raw) {
	case "episodic":
		return "episodic"
	case "semantic":
		return "semantic"
	case "procedural":
		return "procedural"
	case "memory":
		return "memory"
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return unescape(raw)
}

func (p *itemParser) texts(bit int) []string {
	p.once(bit)
	list := make([]string, 0, 4)
	p.array(func() { list = append(list, p.str()) })
	return list
}

func (p *itemParser) number(bit int) *float64 {
	p.once(bit)
	f := p.float()
	return &f
}
