package schemas

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Validate returns what is wrong with m, one issue per failing field, nil when m
// may be written. It allocates nothing for a valid item without kind-specific
// attributes. Its rules are those of json/memory-item.json and, beyond what a
// schema can say: tenant labels name the scope's tenant, there is one level at
// most, validity and update times are in order, session and scope.session agree,
// signer and provenance.signer agree, an item does not link to itself, dropped spans
// lie inside the content, and credentials:…, export:… and extract:… labels have the
// values that a policy knows.
func (m *MemoryItem) Validate() []Issue {
	var c checker
	c.checkID("/id", m.ID)
	c.checkWord("/type", string(m.Type), "must be episodic, procedural or semantic", string(Episodic), string(Procedural), string(Semantic))
	if _, ok := m.Kind.Info(); !ok {
		c.addIssue("/kind", orRequired(string(m.Kind), "must be memory, summary, knowledge, code, experience, value, commit or tool"))
	}
	c.checkScope("/scope", &m.Scope)
	c.checkItemTimes(m)
	c.checkDecay(m.DecayFn)
	c.checkUnit("/confidence", m.Confidence)
	c.checkUnit("/importance", m.Importance)
	c.checkUnit("/trust", m.Trust)
	c.checkUnit("/sensitivity", m.Sensitivity)
	c.checkUnit("/novelty", m.Novelty)
	c.checkProvenance(&m.Provenance)
	c.checkLabels(m)
	c.checkShorts("/pii_flags", m.PIIFlags, MaxRefs)
	c.checkShort("/embedding_ref", m.EmbeddingRef, MaxURI)
	c.checkShorts("/graph_refs", m.GraphRefs, MaxRefs)
	c.checkContent(m)
	c.checkSummary(m)
	c.checkItemNames(m)
	c.checkLinks("/links", m.ID, m.Links)
	c.checkAttributes(m)
	return c.issues
}

func validRel(r Rel) bool {
	switch r {
	case RelCausedBy, RelSupersedes, RelMentions, RelPartOf, RelFollows, RelDerivedFrom:
		return true
	}
	return false
}

func (c *checker) checkScope(pointer string, s *MemoryScope) {
	if !ValidToken(s.Tenant) {
		c.addIssue(pointer+"/tenant", orRequired(s.Tenant, wantToken))
	}
	c.checkName(pointer, "/org", s.Org)
	c.checkName(pointer, "/project", s.Project)
	c.checkName(pointer, "/session", s.Session)
}

func (c *checker) checkItemTimes(m *MemoryItem) {
	if m.CreatedAt.IsZero() {
		c.addIssue("/created_at", required)
	}
	c.checkOrder("/updated_at", m.UpdatedAt, m.CreatedAt, "must not be before created_at")
	c.checkOrder("/valid_to", m.ValidTo, m.ValidFrom, "must be after valid_from")
	if !m.ValidTo.IsZero() && m.ValidTo.Equal(m.ValidFrom) {
		c.addIssue("/valid_to", "must be after valid_from")
	}
	c.checkRange("/ttl", m.TTL, 0, MaxTTL)
	c.checkNotNegative("/seq", m.Seq)
}

func (c *checker) checkDecay(d *DecayFn) {
	if d == nil {
		return
	}
	if !(d.Lambda >= 0 && d.Lambda <= 1e6) {
		c.addIssue("/decay_fn/lambda", "must be between 0 and 1000000 per day")
	}
	if !(d.Days >= 0 && d.Days <= 1e6) {
		c.addIssue("/decay_fn/days", "must be between 0 and 1000000 days")
	}
	switch d.Kind {
	case "none":
	case "exponential":
		if d.Lambda == 0 {
			c.addIssue("/decay_fn/lambda", "is required for an exponential decay")
		}
	case "linear", "step":
		if d.Days == 0 {
			c.addIssue("/decay_fn/days", "is required for a linear or step decay")
		}
	default:
		c.addIssue("/decay_fn/kind", orRequired(d.Kind, "must be exponential, linear, step or none"))
	}
}

func (c *checker) checkProvenance(p *Provenance) {
	c.checkShort("/provenance/source_uri", p.SourceURI, MaxURI)
	digest, ok := strings.CutPrefix(p.Checksum, "sha256:")
	if p.Checksum != "" && (!ok || !isHex(digest, 64, 64)) {
		c.addIssue("/provenance/checksum", `must be "sha256:" and 64 lower-case hex digits`)
	}
	c.checkOptionalID("/provenance/signer", p.Signer)
	c.checkShorts("/provenance/policy_tags", p.PolicyTags, MaxRefs)
}

func (c *checker) checkLabels(m *MemoryItem) {
	const pointer = "/security_label"
	if len(m.SecurityLabel) == 0 {
		c.addIssue(pointer, "is unlabelled: give at least one name:value label, such as level:internal")
		return
	}
	c.checkCount(pointer, len(m.SecurityLabel), MaxLabels, "labels")
	levels := 0
	for i, label := range m.SecurityLabel {
		if !ValidLabel(label) {
			c.addIssue(pointerAt(pointer, i), "must be name:value, the name of a-z 0-9 _ -, the value of A-Z a-z 0-9 . _ : @ / + -")
			continue
		}
		name, value, _ := strings.Cut(label, ":")
		if fault := labelFault(m, name, value); fault != "" {
			c.addIssue(pointerAt(pointer, i), fault)
		}
		if name != "level" {
			continue
		}
		levels++
		if levels > 1 {
			c.addIssue(pointerAt(pointer, i), "must be the only level label")
		}
	}
}

// labelFault says what the value of a label must be, "" when it is.
func labelFault(m *MemoryItem, name, value string) string {
	switch name {
	case "tenant":
		return messageUnless(value == m.Scope.Tenant, "must name the tenant of /scope/tenant")
	case "level":
		return messageUnless(slices.Contains(levelNames[:], value), "must be level:public, level:internal, level:confidential or level:restricted")
	case "credentials":
		return messageUnless(value == "true" || value == "false", "must be credentials:true or credentials:false")
	case "extract":
		return messageUnless(validExtract(value), "must be extract:N with N tokens from 1 to 999999")
	case "export":
		return messageUnless(value == "restricted" || value == "allowed", "must be export:restricted or export:allowed")
	}
	return ""
}

// validExtract reports whether the value of an extract:… label is a number of tokens.
func validExtract(s string) bool {
	n, err := strconv.ParseUint(s, 10, 32)
	return err == nil && s[0] != '0' && n < 1_000_000
}

func (c *checker) checkContent(m *MemoryItem) {
	const pointer = "/content"
	content := &m.Content
	switch {
	case len(content.json) > MaxText || len(content.text) > MaxText:
		c.addIssue(pointer, "must have at most "+strconv.Itoa(MaxText)+" bytes")
	case content.json != nil:
		if isEmptyJSON(content.json) {
			c.addIssue(pointer, "must not be empty")
		}
	case content.text == "":
		c.addIssue(pointer, "is required and must not be empty")
	case isBlank(content.text):
		c.addIssue(pointer, "must not be blank")
	}
}

// isBlank reports whether s has nothing but ASCII white space.
func isBlank(s string) bool { return strings.Trim(s, " \t\r\n\v\f") == "" }

// isEmptyJSON reports whether raw is {} or [], white space apart.
func isEmptyJSON(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) < 2 || len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

func (c *checker) checkSummary(m *MemoryItem) {
	if m.Summary == nil {
		return
	}
	switch {
	case isBlank(m.Summary.Text):
		c.addIssue("/summary/text", "is required and must not be blank")
	case len(m.Summary.Text) > MaxSummary:
		c.addIssue("/summary/text", "must have at most "+strconv.Itoa(MaxSummary)+" bytes")
	}
	spans := m.Summary.DroppedSpans
	c.checkCount("/summary/dropped_spans", len(spans), MaxRefs, "spans")
	size := len(m.Content.Text())
	for i, s := range spans {
		pointer := pointerAt("/summary/dropped_spans", i)
		switch {
		case s.Start < 0:
			c.addIssue(pointer+"/start", "must not be negative")
		case s.End <= s.Start:
			c.addIssue(pointer+"/end", "must be greater than start")
		case s.End > size:
			c.addIssue(pointer+"/end", "must lie inside the content")
		}
	}
}

func (c *checker) checkItemNames(m *MemoryItem) {
	c.checkShort("/category", m.Category, MaxName)
	c.checkShort("/session", m.Session, MaxName)
	c.checkShort("/speaker", m.Speaker, MaxName)
	c.checkSame("/session", m.Session, m.Scope.Session, "must equal /scope/session when both are given")
	c.checkWord("/role", m.Role, "must be user, assistant, tool or system", "", "user", "assistant", "tool", "system")
	c.checkOptionalID("/signer", m.Signer)
	c.checkSame("/signer", m.Signer, m.Provenance.Signer, "must equal /provenance/signer when both are given")
}

func (c *checker) checkLinks(pointer, from string, links []Link) {
	c.checkCount(pointer, len(links), MaxLinks, "links")
	for i := range links {
		l := &links[i]
		if !validRel(l.Rel) {
			c.addIssue(pointerAt(pointer, i)+"/rel", orRequired(string(l.Rel), wantRel))
		}
		if !ValidID(l.To) {
			c.addIssue(pointerAt(pointer, i)+"/to", orRequired(l.To, wantID))
		} else if l.To == from {
			c.addIssue(pointerAt(pointer, i)+"/to", "must not be the item itself")
		}
	}
}
