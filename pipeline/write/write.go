package write

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nkeys"

	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// DefaultMaxData is the largest data of an event in bytes: the largest text and room
// for its escapes.
const DefaultMaxData = 8 << 20

const (
	maxExtensions     = 32
	maxExtensionValue = 4096 // bytes
)

// Config says what Prepare demands. The zero value takes unsigned events.
type Config struct {
	// RequireSignature refuses events without a valid signature.
	RequireSignature bool
	// Keys are the nkey public keys by key id. A signature by another key is refused,
	// except that a key id which is itself an nkey public key speaks for itself when
	// RequireSignature is not set: whether to trust it is policy's matter.
	Keys map[string]string
	// MaxData is the largest data in bytes; 0 means DefaultMaxData.
	MaxData int
	// Redact may change an item before it is written, and returns the JSON pointers
	// it changed; none leaves the received bytes as they are. It runs after the
	// signature was verified and must give the same result for the same item. nil: no redaction.
	Redact func(tenant string, m *schemas.MemoryItem) []string
	// Detector finds personal data and secrets in an item after Redact has run; nil: nobody
	// looks. OnFound says what is done then.
	Detector *pii.Detector
	OnFound  OnFound
}

// OnFound is what is done with an item in which personal data or a secret is found.
type OnFound string

// The ways. The zero value is FoundOff.
const (
	FoundOff    OnFound = "off"    // nobody looks
	FoundLabel  OnFound = "label"  // it is taken as it is, with a label detected:TYPE for each type
	FoundRedact OnFound = "redact" // the findings are replaced by [TYPE] before it is taken
	FoundRefuse OnFound = "refuse" // it is refused
)

// Writer prepares events. It is safe for concurrent use.
type Writer struct {
	requireSignature bool
	keys             map[string]nkeys.KeyPair
	maxData          int
	redact           func(tenant string, m *schemas.MemoryItem) []string
	detector         *pii.Detector
	onFound          OnFound
}

// New returns a Writer, or an error that names the key that is none.
func New(c Config) (*Writer, error) {
	w := &Writer{requireSignature: c.RequireSignature, keys: make(map[string]nkeys.KeyPair, len(c.Keys)), maxData: c.MaxData, redact: c.Redact, detector: c.Detector, onFound: c.OnFound}
	switch c.OnFound {
	case "", FoundOff:
		w.detector = nil
	case FoundLabel, FoundRedact, FoundRefuse:
		if c.Detector == nil {
			return nil, fmt.Errorf("check writer: %q needs a detector", c.OnFound)
		}
	default:
		return nil, fmt.Errorf("check writer: what to do with personal data: %q is none of off, label, redact and refuse", c.OnFound)
	}
	if w.maxData == 0 {
		w.maxData = DefaultMaxData
	}
	if w.maxData < 0 {
		return nil, fmt.Errorf("check writer: maximum data of %d bytes is negative", c.MaxData)
	}
	for id, public := range c.Keys {
		if !schemas.ValidID(id) || id == schemas.Unsigned {
			return nil, fmt.Errorf("check signing key %q: the id must match [A-Za-z0-9._:-]{1,128} and not be %q", id, schemas.Unsigned)
		}
		key, err := nkeys.FromPublicKey(public)
		if err != nil {
			return nil, fmt.Errorf("read public key %q: %w", id, err)
		}
		w.keys[id] = key
	}
	return w, nil
}

// Prepared is the draft of an event with the facts that policy needs.
type Prepared struct {
	eventlog.Draft
	Touches []Touch       // the item of the event first; none for an erasure and for accesses
	Roles   []string      // claimed by its agent
	Level   schemas.Level // claimed by its agent, Restricted without a claim
	Trust   float64       // claimed by its item; 0 without a claim
}

// Prepare turns an event received on the subject of tenant and agent into a draft.
// The error is a *Rejection that names every failing JSON pointer of the event.
func (w *Writer) Prepare(tenant, agent string, ev event.Event) (Prepared, error) {
	if r := w.checkAttributes(tenant, agent, &ev); r != nil {
		return Prepared{}, r
	}
	b, issues := decodeBody(ev.Type(), ev.Data())
	if b.tenant != "" && b.tenant != tenant {
		return Prepared{}, newRejection(WrongTenant, "/data/scope/tenant", "must be the tenant of the subject it was published on")
	}
	if len(issues) > 0 {
		return Prepared{}, rejectData(issues, b.item != nil && len(b.item.SecurityLabel) == 0)
	}
	if r := checkSubject(&ev, &b); r != nil {
		return Prepared{}, r
	}
	signer, r := w.verifySignature(&ev)
	if r != nil {
		return Prepared{}, r
	}
	level, r := levelOf(&ev)
	if r != nil {
		return Prepared{}, r
	}
	d, err := w.makeDraft(tenant, agent, &ev, &b, signer)
	if err != nil {
		return Prepared{}, err
	}
	p := Prepared{Draft: d, Touches: b.touches, Level: level, Roles: strings.FieldsFunc(d.Extensions[schemas.ExtensionRoles], func(r rune) bool { return r == ',' })}
	if b.item != nil && b.item.Trust != nil {
		p.Trust = *b.item.Trust
	}
	if d.Type != schemas.TypeMemoryErased { // the same event is the same whatever it claims
		delete(d.Extensions, schemas.ExtensionRoles)
	}
	return p, nil
}

// levelOf returns the clearance that an event claims, the highest when it claims none.
func levelOf(ev *event.Event) (schemas.Level, *Rejection) {
	if _, claims := ev.Extensions()[schemas.ExtensionLevel]; !claims {
		return schemas.Restricted, nil
	}
	level, ok := schemas.ParseLevel(stringExtension(ev, schemas.ExtensionLevel))
	if !ok {
		return level, newRejection(Malformed, "/"+schemas.ExtensionLevel, "is no level: use public, internal, confidential or restricted")
	}
	return level, nil
}

// ownSource begins the sources of what Satchel itself writes to the log, but for what it
// names agents by.
const ownSource, agentSource = "satchel://", "satchel://agents/"

// isAnothersSource reports whether a source is kept for another agent: one that names an agent is
// that agent's alone, with what it adds behind a slash.
func isAnothersSource(source, tenant, agent string) bool {
	own := schemas.AgentSource(tenant, agent)
	return strings.HasPrefix(source, agentSource) && source != own && !strings.HasPrefix(source, own+"/")
}

// Own reports whether a source is one that Satchel keeps for itself.
func Own(source string) bool {
	return strings.HasPrefix(source, ownSource) && !strings.HasPrefix(source, agentSource)
}

func (w *Writer) checkAttributes(tenant, agent string, ev *event.Event) *Rejection {
	if !scope.ValidTenant(tenant) || !schemas.ValidToken(agent) {
		return newRejection(Malformed, "", `the subject's tenant and agent must match [A-Za-z0-9_-]{1,64}, and the tenant not be "_"`)
	}
	if ev.Context == nil || ev.SpecVersion() != event.CloudEventsVersionV1 {
		return newRejection(Malformed, "/specversion", "must be 1.0")
	}
	if Own(ev.Source()) {
		return newRejection(Malformed, "/source", "is kept for Satchel itself")
	}
	if isAnothersSource(ev.Source(), tenant, agent) {
		return newRejection(Malformed, "/source", "is kept for the agent that it names")
	}
	if !schemas.ValidID(ev.ID()) {
		return newRejection(BadID, "/id", "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
	}
	if source := ev.Source(); source == "" || len(source) > schemas.MaxURI {
		return newRejection(Malformed, "/source", fmt.Sprintf("is required and has at most %d characters", schemas.MaxURI))
	}
	if !eventlog.Storable(ev.Time()) {
		return newRejection(Malformed, "/time", "must be within "+eventlog.StorableYears)
	}
	if !isMemoryEvent(ev.Type()) {
		return newRejection(UnknownType, "/type", "is not an event an agent may publish: use one of "+strings.Join(schemas.MemoryEventTypes(), ", "))
	}
	if len(ev.Data()) > w.maxData {
		return newRejection(Oversized, "/data", fmt.Sprintf("must have at most %d bytes", w.maxData))
	}
	if t := ev.DataContentType(); t != "" && !isJSONType(t) {
		return newRejection(Malformed, "/datacontenttype", "must be application/json")
	}
	return checkExtensions(ev.Extensions())
}

func checkExtensions(extensions map[string]any) *Rejection {
	if len(extensions) > maxExtensions {
		return newRejection(Oversized, "", fmt.Sprintf("must have at most %d extensions", maxExtensions))
	}
	for name, value := range extensions {
		if s, ok := value.(string); ok && len(s) > maxExtensionValue || len(name) > 64 {
			return newRejection(Oversized, "/"+name[:min(len(name), 64)], fmt.Sprintf("must have at most %d bytes", maxExtensionValue))
		}
	}
	return nil
}

func isMemoryEvent(eventType string) bool {
	switch eventType {
	case schemas.TypeMemoryRecorded, schemas.TypeMemoryLinked, schemas.TypeMemorySuperseded,
		schemas.TypeMemoryAccessed, schemas.TypeMemoryErased:
		return true
	}
	return false
}

func isJSONType(t string) bool {
	t, _, _ = strings.Cut(t, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")
}

// checkSubject holds the event's subject against the memory it is about. Events about
// several memories may carry any id.
func checkSubject(ev *event.Event, b *body) *Rejection {
	subject := ev.Subject()
	switch {
	case subject == "":
	case b.several && !schemas.ValidID(subject):
		return newRejection(BadID, "/subject", "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
	case !b.several && subject != b.subject:
		return newRejection(Malformed, "/subject", "must be the id of the memory in the data")
	default:
		b.subject = subject
	}
	return nil
}

// verifySignature returns the verified key id, or unsigned.
func (w *Writer) verifySignature(ev *event.Event) (string, *Rejection) {
	keyID := stringExtension(ev, schemas.ExtensionKey)
	signature := stringExtension(ev, schemas.ExtensionSignature)
	if keyID == "" && signature == "" {
		if w.requireSignature {
			return "", newRejection(BadSignature, "/"+schemas.ExtensionSignature, "is required: this tenant takes signed events only")
		}
		return schemas.Unsigned, nil
	}
	key, known := w.keyOf(keyID)
	switch {
	case !known:
		return "", newRejection(BadSignature, "/"+schemas.ExtensionKey, "is not the id of a known key")
	case ev.Subject() == "":
		return "", newRejection(BadSignature, "/subject", "is required for a signed event")
	}
	digest := schemas.SigningDigest(ev.Type(), ev.Source(), ev.ID(), ev.Subject(), ev.Data())
	if err := schemas.VerifySignature(key, signature, digest); err != nil {
		return "", newRejection(BadSignature, "/"+schemas.ExtensionSignature, "does not match the event")
	}
	return keyID, nil
}

func (w *Writer) keyOf(keyID string) (nkeys.KeyPair, bool) {
	if key, ok := w.keys[keyID]; ok {
		return key, true
	}
	if w.requireSignature {
		return nil, false
	}
	key, err := nkeys.FromPublicKey(keyID)
	return key, err == nil
}

func stringExtension(ev *event.Event, name string) string {
	s, _ := ev.Extensions()[name].(string)
	return s
}

func (w *Writer) makeDraft(tenant, agent string, ev *event.Event, b *body, signer string) (eventlog.Draft, error) {
	d := eventlog.Draft{
		Tenant: tenant, Agent: agent, Type: ev.Type(), Source: ev.Source(), ID: ev.ID(),
		Subject: b.subject, Time: ev.Time(), Data: ev.Data(), Extensions: extensionsOf(ev),
	}
	d.Extensions[schemas.ExtensionSigner] = signer
	if b.item == nil {
		return d, nil
	}
	if !eventlog.Storable(b.item.CreatedAt) {
		return eventlog.Draft{}, newRejection(Malformed, "/data/created_at", "must be within "+eventlog.StorableYears)
	}
	if d.Time.IsZero() {
		d.Time = b.item.CreatedAt
	}
	if r := w.finishItem(&d, b.item, signer); r != nil {
		return eventlog.Draft{}, r
	}
	return d, nil
}

// finishItem checks what the item claims about itself and redacts it.
func (w *Writer) finishItem(d *eventlog.Draft, m *schemas.MemoryItem, signer string) *Rejection {
	for _, claim := range [...]struct{ pointer, signer string }{{"/data/signer", m.Signer}, {"/data/provenance/signer", m.Provenance.Signer}} {
		if claim.signer != "" && claim.signer != schemas.Unsigned && claim.signer != signer {
			return newRejection(BadSignature, claim.pointer, "names a signer whose signature the event does not carry")
		}
	}
	if i := pii.MissedFlag(m.Content, m.PIIFlags); i >= 0 {
		return newRejection(Malformed, "/data/pii_flags/"+strconv.Itoa(i), "names no place in the content: a path must be spelt as the member is, and a name with a dot be quoted; of a text only $.content is a place")
	}
	checksum := m.Content.Checksum()
	if m.Provenance.Checksum != "" && m.Provenance.Checksum != checksum {
		return newRejection(Malformed, "/data/provenance/checksum", "is not the SHA-256 of the content")
	}
	d.Extensions[schemas.ExtensionChecksum] = checksum
	var changed []string
	if w.redact != nil {
		changed = w.redact(d.Tenant, m)
	}
	if w.detector != nil {
		more, r := w.detectPersonalData(d, m)
		if r != nil {
			return r
		}
		changed = append(changed, more...)
	}
	if len(changed) == 0 {
		return nil
	}
	return rewriteDraft(d, m, changed)
}

// detectPersonalData does what is to be done with an item in which something is found, and returns
// the JSON pointers of what it changed.
func (w *Writer) detectPersonalData(d *eventlog.Draft, m *schemas.MemoryItem) (changed []string, r *Rejection) {
	if w.onFound == FoundRedact {
		return w.detector.MaskItem(m, pii.Mark), nil
	}
	found := w.detector.Item(m)
	if len(found) == 0 {
		return nil, nil
	}
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = string(t)
	}
	if w.onFound == FoundRefuse {
		return nil, newRejection(PersonalData, "/data", "holds what may not be remembered here: "+strings.Join(names, ", "))
	}
	d.Extensions[schemas.ExtensionDetected] = strings.Join(names, ",")
	return nil, nil
}

// Mask returns the data of an event with everything that is found replaced, for where a
// refused event is kept.
func (w *Writer) Mask(data []byte) []byte {
	if w.detector == nil {
		return data
	}
	return w.detector.MaskJSON(data, pii.Mark)
}

// rewriteDraft writes the changed item into the draft.
func rewriteDraft(d *eventlog.Draft, m *schemas.MemoryItem, changed []string) *Rejection {
	m.Provenance.Checksum = ""
	if issues := m.Validate(); len(issues) > 0 {
		return rejectData(issues, len(m.SecurityLabel) == 0)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return newRejection(Malformed, "/data", "cannot be written after redaction")
	}
	d.Data = data
	d.Extensions[schemas.ExtensionRedacted] = strings.Join(changed, ",")
	d.Extensions[schemas.ExtensionChecksum] = m.Content.Checksum()
	delete(d.Extensions, schemas.ExtensionSignature) // it was over the bytes before redaction
	return nil
}

// extensionsOf returns the extensions as CloudEvents text, and datacontenttype and dataschema.
func extensionsOf(ev *event.Event) map[string]string {
	given := ev.Extensions()
	all := make(map[string]string, len(given)+4)
	for name, value := range given {
		if isReserved(name) {
			continue
		}
		if s, ok := value.(string); ok {
			all[name] = s
		} else {
			all[name] = formatExtension(value)
		}
	}
	if t := ev.DataContentType(); t != "" {
		all["datacontenttype"] = t
	}
	if s := ev.DataSchema(); s != "" {
		all["dataschema"] = s
	}
	return all
}

// isReserved reports whether a publisher may not set an extension: all of Satchel's but
// the signature and the roles claimed.
func isReserved(name string) bool {
	switch name {
	case schemas.ExtensionKey, schemas.ExtensionSignature, schemas.ExtensionRoles:
		return false
	}
	return strings.HasPrefix(name, "satchel")
}
