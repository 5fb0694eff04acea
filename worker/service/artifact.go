package service

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"slices"

	"satchel/pipeline/isolation"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker/transport"
)

// actionOpen is the policy action of opening an artifact.
const actionOpen = "open"

// Artifacts opens artifacts by their handles. Whatever is wrong with a handle (changed,
// expired, another's, revoked, denied by policy, its content gone) is refused with one
// error. An opening is in the log before the first byte leaves. It is safe for concurrent
// use.
type Artifacts struct {
	service   *Service
	sealer    *isolation.Sealer
	artifacts transport.Artifacts
	sanitizer *pii.Sanitizer
	onFound   write.OnFound
	ids       func() string
	uploads   *admission // contents that are to be stored
	writes    *admission // those of them that are being stored
}

// ArtifactsConfig is what Artifacts are made of; every field but OnFound is required.
type ArtifactsConfig struct {
	Service   *Service
	Sealer    *isolation.Sealer
	Artifacts transport.Artifacts
	Sanitizer *pii.Sanitizer
	OnFound   write.OnFound // what is done with personal data in what is stored
	IDs       func() string // of decisions and openings
}

// NewArtifacts returns the artifacts of cfg.
func NewArtifacts(cfg ArtifactsConfig) (*Artifacts, error) {
	if cfg.Service == nil || cfg.Sealer == nil || cfg.Artifacts == nil || cfg.Sanitizer == nil || cfg.IDs == nil {
		return nil, errors.New("new artifacts: service, sealer, artifacts, sanitizer and ids are required")
	}
	return &Artifacts{service: cfg.Service, sealer: cfg.Sealer, artifacts: cfg.Artifacts, sanitizer: cfg.Sanitizer, onFound: cfg.OnFound, ids: cfg.IDs,
		uploads: newUploads(), writes: newWrites()}, nil
}

// newOpeningRefusal is the one answer to every handle that opens nothing.
func newOpeningRefusal() error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the handle opens nothing"}
}

// Opened is an artifact on its way out. The caller must close it.
type Opened struct {
	io.Reader
	MediaType string
	Name      string
	Size      int    // bytes of the artifact
	SHA256    string // hex, of the artifact
	Masked    bool   // what is read is not the artifact's bytes
	Position  int64  // log position of the opening

	content io.Closer
}

// Close ends the stream.
func (o *Opened) Close() error { return o.content.Close() }

// opening is one attempt.
type opening struct {
	claim  isolation.Claim
	s      scope.Scope
	via    string // nats, http
	offset int
	held   schemas.ArtifactAttributes
	masks  schemas.Obligations // on text
	log    schemas.PolicyDecision
}

// Open answers art.v1.<tenant>.open with a window of what is shown.
func (d *Artifacts) Open(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.OpenRequest])
	if err != nil {
		return nil, err
	}
	if req.From == nil || req.From.ID == "" {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: "say who asks", Field: "/from/id"}
	}
	o := opening{via: "nats", offset: req.Offset}
	opened, err := d.openArtifact(ctx, tenant, req.Handle, req.From, &o)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if req.Length == 0 {
		req.Length = schemas.MaxArtifactWindow
	}
	if _, err := io.CopyN(io.Discard, opened, int64(req.Offset)); err != nil && !errors.Is(err, io.EOF) {
		return nil, storageError(ctx, "read the artifact", err)
	}
	window := make([]byte, req.Length+1)
	n, err := io.ReadFull(opened, window)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, storageError(ctx, "read the artifact", err)
	}
	return schemas.OpenReply{MediaType: opened.MediaType, Size: opened.Size, SHA256: opened.SHA256, Masked: opened.Masked, Offset: req.Offset,
		Data: window[:min(n, req.Length)], More: n > req.Length, Position: opened.Position}, nil
}

// OpenHandle opens the artifact of a handle for whoever holds it, as a stream. The
// principal is the one that the handle was made for; what the registry grants that
// principal now is what counts.
func (d *Artifacts) OpenHandle(ctx context.Context, handle string) (*Opened, error) {
	tenant := isolation.HandleTenant(handle)
	if !schemas.ValidToken(tenant) {
		return nil, newOpeningRefusal()
	}
	return d.openArtifact(ctx, tenant, handle, nil, &opening{via: "http"})
}

func (d *Artifacts) openArtifact(ctx context.Context, tenant, handle string, from *schemas.Agent, o *opening) (*Opened, error) {
	var err error
	if o.claim, err = d.sealer.Open(tenant, handle); err != nil {
		return nil, newOpeningRefusal()
	}
	if from == nil {
		from = &schemas.Agent{Type: o.claim.Kind, ID: o.claim.Principal, SecurityLevel: schemas.Level(o.claim.Level).String(), Groups: o.claim.Groups, Roles: o.claim.Roles}
	}
	if o.s, err = d.service.Scope(ctx, tenant, from, o.claim.Purpose); err != nil {
		return nil, newOpeningRefusal()
	}
	leave, err := d.service.beginSearch(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	ok, err := d.canOpenContent(ctx, o)
	if err != nil {
		return nil, err
	}
	var content io.ReadCloser
	if ok {
		if content, err = d.artifacts.Open(ctx, tenant, o.claim.SHA256); err != nil && !errors.Is(err, transport.ErrNoArtifact) {
			return nil, storageError(ctx, "open the artifact", err)
		}
	}
	if content == nil {
		return nil, d.turnAway(ctx, o)
	}
	opened, err := d.showContent(o, content)
	if err == nil {
		opened.Position, err = d.logOpening(ctx, o, opened)
	}
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return opened, nil
}

// canOpenContent reports whether the handle's holder may open the content now.
func (d *Artifacts) canOpenContent(ctx context.Context, o *opening) (bool, error) {
	if o.s.Principal().ID != o.claim.Principal {
		return false, nil
	}
	for _, what := range []string{handleName(o.claim.ID), itemName(o.claim.ItemID)} {
		at, err := d.artifacts.RevokedAt(ctx, o.s.Tenant(), what)
		if err != nil {
			return false, storageError(ctx, "look for a revocation", err)
		}
		if !at.IsZero() && !o.claim.IssuedAt.After(at) {
			return false, nil
		}
	}
	records, err := d.service.cfg.Items.Get(ctx, o.s, []string{o.claim.ItemID})
	if err != nil {
		return false, storageError(ctx, "read the item", err)
	}
	if len(records) != 1 {
		return false, nil
	}
	var there bool
	o.held, there = records[0].Artifact()
	if !there || o.held.SHA256 != o.claim.SHA256 {
		return false, nil
	}
	if ok, err := d.hasStoredContent(ctx, o, records[0].Position); !ok || err != nil {
		return false, err
	}
	return d.decideOpening(ctx, o, &records[0]), nil
}

// hasStoredContent reports whether the agent who recorded the item at a position has stored the
// content. Without, a hash that somebody knows would be a way around the labels of those
// who did.
func (d *Artifacts) hasStoredContent(ctx context.Context, o *opening, position int64) (bool, error) {
	system, err := scope.System(o.s.Tenant())
	if err != nil {
		return false, nil //nolint:nilerr // there is no such tenant
	}
	entry, err := d.service.cfg.Log.Entry(ctx, system, position)
	if errors.Is(err, eventlog.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, storageError(ctx, "read the item's entry", err)
	}
	return entry.Type == schemas.TypeMemoryRecorded && !entry.Erased && d.sealer.Proves(o.held.Proof, o.s.Tenant(), entry.Agent, o.held.SHA256), nil
}

func handleName(id string) string { return "handle " + id }
func itemName(id string) string   { return "item " + id }

// decideOpening asks the policy twice in one decision: about the item, and about it as if every
// type of personal data had been found in it, which says how a text has to be masked.
func (d *Artifacts) decideOpening(ctx context.Context, o *opening, r *schemas.Record) bool {
	item := policies.ResourceOf(r)
	worst := item
	worst.Facets.PII = true
	worst.Facets.Labels = slices.Clone(item.Facets.Labels)
	for _, t := range pii.Types() {
		worst.Facets.Labels = append(worst.Facets.Labels, schemas.LabelDetected+":"+string(t))
	}
	slices.Sort(worst.Facets.Labels)
	now := d.service.cfg.Clock()
	o.log = schemas.PolicyDecision{ID: d.ids(), RequestID: o.claim.ID, Principal: o.s.Principal().ID, Purpose: o.s.Purpose(), Action: actionOpen, CreatedAt: now.UTC()}
	answer, err := d.service.cfg.PDP.Decide(ctx, o.s, policies.Request{Action: actionOpen, Now: now, Resources: []policies.Resource{item, worst},
		RequestID: o.log.RequestID, DecisionID: o.log.ID})
	if err != nil || len(answer.Verdicts) != 2 {
		return false
	}
	o.log.Revision = answer.Revision
	o.log.InputHash = answer.InputHash
	own := answer.Verdicts[0]
	worse := answer.Verdicts[1]
	o.masks = worse.Obligations
	if len(worse.Redact) > 0 && o.masks.PII == "" {
		o.masks.PII = schemas.PIIRedact
	}
	o.masks.Summarise = 0
	// Fields cannot be taken out of what is no item, and an extract is there already.
	allow := own.Allow && worse.Allow && len(own.Redact) == 0 && own.Obligations.Summarise == 0
	logged := schemas.Verdict{ID: o.log.ID + ".1", ItemID: r.ID, Allow: allow, Reason: own.Reason, Exception: own.Exception}
	if own.Allow && !allow {
		logged.Reason = "extract_only"
	}
	if allow && !o.masks.IsZero() {
		logged.Obligations = &o.masks
	}
	o.log.Verdicts = []schemas.Verdict{logged}
	return allow
}

// showContent returns the stream of what is shown of a content.
func (d *Artifacts) showContent(o *opening, content io.ReadCloser) (*Opened, error) {
	opened := &Opened{MediaType: o.held.MediaType, Name: o.held.Name, Size: o.held.Size, SHA256: o.held.SHA256, content: content}
	buffered := bufio.NewReaderSize(content, 32<<10)
	opened.Reader = buffered
	if o.masks.PII == "" {
		return opened, nil
	}
	if _, err := buffered.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, &schemas.Error{Code: schemas.CodeStorage, Message: "could not read the artifact"}
	}
	text, ok := textOf(buffered)
	if !ok {
		return opened, nil // there is no text to mask
	}
	masked, ok := d.sanitizer.Reader(o.s.Tenant(), text, o.masks)
	if !ok {
		return nil, newOpeningRefusal()
	}
	opened.Reader = masked
	opened.Masked = true
	if kind, parameters, err := mime.ParseMediaType(opened.MediaType); err == nil && parameters["charset"] != "" {
		parameters["charset"] = "utf-8"
		opened.MediaType = mime.FormatMediaType(kind, parameters)
	}
	return opened, nil
}

// logOpening logs the decision and the opening.
func (d *Artifacts) logOpening(ctx context.Context, o *opening, opened *Opened) (int64, error) {
	now := d.service.cfg.Clock().UTC()
	data := schemas.Artifact{
		ID: isolation.ArtifactSubject(o.held.SHA256), Ref: schemas.ArtifactRef{Object: o.held.Object, SHA256: o.held.SHA256, Size: o.held.Size}, MediaType: o.held.MediaType,
		ItemID: o.claim.ItemID, RequestID: o.claim.ID, Principal: o.s.Principal().ID, Purpose: o.s.Purpose(), Decision: o.log.Verdicts[0].ID,
		HandleID: o.claim.ID, Via: o.via, Offset: o.offset, Masked: opened.Masked, ExpiresAt: o.claim.ExpiresAt, CreatedAt: now,
	}
	decided, err := isolation.ArtifactEntry(o.s.Tenant(), schemas.TypePolicyDecided, o.log.ID, o.claim.ID, now, &o.log)
	if err != nil {
		return 0, err
	}
	entry, err := isolation.ArtifactEntry(o.s.Tenant(), schemas.TypeArtifactOpened, d.ids(), o.claim.ID, now, &data)
	if err != nil {
		return 0, err
	}
	outcomes, err := d.service.cfg.Log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{decided, entry}})
	if err != nil || len(outcomes) != 2 || outcomes[1].Status != eventlog.Appended {
		return 0, &schemas.Error{Code: schemas.CodeStorage, Message: "the opening could not be logged, so nothing leaves"}
	}
	return outcomes[1].Position, nil
}

// turnAway logs that a handle of ours opened nothing, and returns the refusal.
func (d *Artifacts) turnAway(ctx context.Context, o *opening) error {
	now := d.service.cfg.Clock().UTC()
	entry, err := isolation.ArtifactEntry(o.s.Tenant(), schemas.TypeRequestRefused, d.ids(), o.claim.ID, now,
		&schemas.Refusal{RequestID: o.claim.ID, Principal: o.s.Principal().ID, Code: schemas.CodePolicyDenied, Message: "an artifact was not opened"})
	if err == nil {
		_, err = d.service.cfg.Log.Append(ctx, eventlog.Batch{Existing: true, Drafts: []eventlog.Draft{entry}})
	}
	if err != nil {
		return &schemas.Error{Code: schemas.CodeStorage, Message: "the refusal could not be logged"}
	}
	return newOpeningRefusal()
}
