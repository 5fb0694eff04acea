package service

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
)

// PackSource is the CloudEvents source of what the engine writes to the log; with the
// pack's id it finds the pack's entry.
const PackSource = schemas.SourceEngine

// Head answers log.v1.<tenant>.head.
func (v *Service) Head(ctx context.Context, tenant string, _ []byte) (any, error) {
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	reply, err := v.cfg.Log.SignedHead(ctx, s)
	if err != nil {
		return nil, storageError(ctx, "sign the head", err)
	}
	if v.cfg.Witnesses != nil {
		origin, _, _ := strings.Cut(reply.Checkpoint, "\n")
		if witnessed := v.cfg.Witnesses.Newest(tenant); strings.HasPrefix(witnessed, origin+"\n") { // the origin may have changed
			reply.Witnessed = witnessed
		}
	}
	return reply, nil
}

// Prove answers log.v1.<tenant>.prove.
func (v *Service) Prove(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.ProveRequest])
	if err != nil {
		return nil, err
	}
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	entry, shown, err := v.readProvedEntry(ctx, s, req)
	if err != nil {
		return nil, err
	}
	head, err := v.cfg.Log.SignedHead(ctx, s)
	if err != nil {
		return nil, storageError(ctx, "sign the head", err)
	}
	reply := schemas.ProveReply{Checkpoint: head.Checkpoint}
	if entry != nil {
		proof, err := v.cfg.Log.ProveInclusion(ctx, s, entry.Position, head.Size)
		if err != nil {
			return nil, storageError(ctx, "prove the entry", err)
		}
		reply.Inclusion = &proof
		if shown {
			reply.Preimage = string(entry.Preimage())
		}
	}
	if req.OldSize > 0 {
		proof, err := v.cfg.Log.ProveConsistencyAt(ctx, s, req.OldSize, head.Size)
		if err != nil {
			return nil, storageError(ctx, "prove consistency", err)
		}
		reply.Consistency = &proof
	}
	return reply, nil
}

// readProvedEntry reads the entry that a request is about, nil for none. It is shown if policy lets the caller follow
// its kind; an id of another is not found, as one that there is not.
func (v *Service) readProvedEntry(ctx context.Context, s scope.Scope, req schemas.ProveRequest) (_ *eventlog.Entry, shown bool, err error) {
	var entry eventlog.Entry
	byID := req.Position == 0
	switch {
	case !byID:
		entry, err = v.cfg.Log.Entry(ctx, s, req.Position)
	case req.ID != "":
		entry, err = v.cfg.Log.Find(ctx, s, req.Source, req.ID)
	default:
		return nil, false, nil
	}
	if err == nil {
		shown, err = v.mayProve(ctx, s.Tenant(), req.From, &entry)
	}
	if hidden := byID && !shown; err == nil && hidden {
		err = eventlog.ErrNotFound
	}
	if err != nil {
		return nil, false, storageError(ctx, "find the entry", err)
	}
	return &entry, shown, nil
}

// mayKnow refuses to tell of an entry that nobody published, as of one that there is not, unless policy lets the
// caller follow its kind.
func (v *Service) mayKnow(ctx context.Context, tenant string, entry *eventlog.Entry) error {
	if slices.Contains(schemas.MemoryEventTypes(), entry.Type) {
		return nil
	}
	shown, err := v.mayProve(ctx, tenant, nil, entry)
	if err == nil && !shown {
		return eventlog.ErrNotFound
	}
	return err
}

// mayProve asks policy whether the caller may follow entries like this one. Of a caller that is not known no
// policy is asked.
func (v *Service) mayProve(ctx context.Context, tenant string, from *schemas.Agent, entry *eventlog.Entry) (bool, error) {
	unnamed := from == nil
	if unnamed {
		from = &schemas.Agent{ID: callerOf(ctx)}
	}
	s, err := v.Scope(ctx, tenant, from, "")
	if err != nil && unnamed {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	kind, _ := schemas.LedgerKindOf(entry.Type)
	err = v.mayFollow(ctx, s, kind)
	var refused *schemas.Error
	if errors.As(err, &refused) && !refused.Undecided {
		return false, nil
	}
	return err == nil, err
}

func (v *Service) proveInclusion(ctx context.Context, s scope.Scope, position int64) (string, *schemas.InclusionProof, error) {
	head, err := v.cfg.Log.SignedHead(ctx, s)
	if err != nil {
		return "", nil, err
	}
	proof, err := v.cfg.Log.ProveInclusion(ctx, s, position, head.Size)
	if err != nil {
		return "", nil, err
	}
	return head.Checkpoint, &proof, nil
}

// Pack answers log.v1.<tenant>.pack: the stored result, byte for byte, for the
// principal it was made for or an auditor, if policy allows every item in it, as it was
// packed and as it is now.
func (v *Service) Pack(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.PackRequest])
	if err != nil {
		return nil, err
	}
	leave, err := v.beginSearch(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	stored, err := v.openPack(ctx, tenant, req)
	if err != nil {
		return nil, err
	}
	return stored.raw, nil
}

// OpenPack returns the stored result of a pack to s, for whom it was made or who audits,
// if policy still allows every item in it for the pack's purpose.
func (v *Service) OpenPack(ctx context.Context, s scope.Scope, packID string) (schemas.ContextResult, error) {
	var res schemas.ContextResult
	stored, err := v.openPackAs(ctx, s.Tenant(), schemas.PackRequest{PackID: packID}, func(p *schemas.ContextPack) error {
		if !strings.EqualFold(p.Purpose, s.Purpose()) {
			return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the pack was made for another purpose"}
		}
		return v.maySee(ctx, s, p)
	})
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(stored.raw, &res); err != nil {
		return res, storageError(ctx, "read the pack", err)
	}
	return res, nil
}

// storedPack is a pack's stored result and the position of its entry.
type storedPack struct {
	raw      json.RawMessage
	position int64
}

// openPack reads a pack for who asks.
func (v *Service) openPack(ctx context.Context, tenant string, req schemas.PackRequest) (storedPack, error) {
	return v.openPackAs(ctx, tenant, req, func(p *schemas.ContextPack) error { return v.mayOpen(ctx, tenant, req.From, p) })
}

// openPackAs reads a pack that may lets open.
func (v *Service) openPackAs(ctx context.Context, tenant string, req schemas.PackRequest, may func(*schemas.ContextPack) error) (storedPack, error) {
	var none storedPack
	s, err := scope.System(tenant)
	if err != nil {
		return none, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	position := req.Position
	if req.PackID != "" {
		entry, err := v.cfg.Log.Find(ctx, s, PackSource, req.PackID)
		if err != nil {
			return none, storageError(ctx, "find the pack", err)
		}
		position = entry.Position
	}
	entry, err := v.cfg.Log.Entry(ctx, s, position)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		return none, storageError(ctx, "read the pack", err)
	}
	if err != nil || entry.Type != schemas.TypeContextPacked {
		return none, &schemas.Error{Code: schemas.CodeNotFound, Message: "there is no such pack", Field: "/position"}
	}
	var pack schemas.ContextPack
	if err := json.Unmarshal(entry.Data, &pack); err != nil {
		return none, storageError(ctx, "read the pack", err)
	}
	if err := may(&pack); err != nil {
		return none, err
	}
	stored, err := v.cfg.Log.Attachment(ctx, s, position)
	if err != nil {
		return none, storageError(ctx, "read the pack", err)
	}
	return storedPack{stored, position}, nil
}

func (v *Service) mayOpen(ctx context.Context, tenant string, from *schemas.Agent, pack *schemas.ContextPack) error {
	s, err := v.Scope(ctx, tenant, from, pack.Purpose)
	if err != nil {
		return err
	}
	return v.maySee(ctx, s, pack)
}

// maySee asks policy whether s may see all of a pack: each item as it is now, and as it was
// when it was packed.
func (v *Service) maySee(ctx context.Context, s scope.Scope, pack *schemas.ContextPack) error {
	denied := &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy does not allow this pack"}
	if p := s.Principal(); p.ID != pack.Principal && !p.HasRole("auditor") {
		return denied
	}
	shown := map[string]*schemas.ContextItem{}
	for _, section := range pack.Sections {
		for i := range section.Items {
			shown[section.Items[i].ID] = &section.Items[i]
		}
	}
	resources, err := v.listVersions(ctx, s, pack, shown)
	if err != nil {
		return err
	}
	d, err := v.cfg.PDP.Decide(ctx, s, policies.Request{Action: "read", Now: v.cfg.Clock(), Resources: resources, RequestID: pack.RequestID})
	if err != nil || len(d.Verdicts) != len(resources) {
		return noVerdict()
	}
	for i, verdict := range d.Verdicts {
		item := shown[resources[i].ID]
		under := schemas.Obligations{}
		if item.Obligations != nil {
			under = *item.Obligations
		}
		bare := func(path string) bool { return !slices.Contains(item.Redactions, path) }
		if !verdict.Allow || slices.ContainsFunc(verdict.Redact, bare) || !under.Covers(verdict.Obligations) {
			return denied
		}
	}
	return nil
}

// noVerdict refuses a pack for which there is no verdict: policy cannot be asked, or an item
// is not there to be judged. Which of them, and which item, it does not say.
func noVerdict() error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true,
		Message: "policy gave no verdict on what this pack shows, so it is not shown: an item of it may have been erased since, or policy cannot be asked"}
}

// listVersions lists the items of a pack as they are now and, where they have been recorded anew
// since, as they were packed.
func (v *Service) listVersions(ctx context.Context, s scope.Scope, pack *schemas.ContextPack, shown map[string]*schemas.ContextItem) ([]policies.Resource, error) {
	ids := slices.Sorted(maps.Keys(shown))
	records, err := v.cfg.Items.Get(ctx, s, ids)
	if err != nil {
		return nil, storageError(ctx, "read the pack's items", err)
	}
	if len(records) != len(ids) {
		return nil, noVerdict()
	}
	packed := make(map[string]int64, len(ids))
	for _, ref := range pack.ProvenanceRefs {
		packed[ref.ItemID] = ref.Position
	}
	resources := make([]policies.Resource, 0, len(ids))
	for i := range records {
		r := &records[i]
		resources = append(resources, policies.ResourceOf(r))
		if packed[r.ID] == r.Position {
			continue
		}
		was, err := v.readRecordedVersion(ctx, s.Tenant(), packed[r.ID], r.ID)
		if err != nil {
			return nil, err
		}
		resources = append(resources, policies.ResourceOf(was))
	}
	return resources, nil
}

// readRecordedVersion reads the version of an item that stands at a position of the log.
func (v *Service) readRecordedVersion(ctx context.Context, tenant string, position int64, id string) (*schemas.Record, error) {
	system, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	entry, err := v.cfg.Log.Entry(ctx, system, position)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		return nil, storageError(ctx, "read the pack's items", err)
	}
	if err != nil || entry.Erased || entry.Type != schemas.TypeMemoryRecorded || entry.Subject != id {
		return nil, noVerdict()
	}
	item, err := write.Item(entry)
	if err != nil {
		return nil, storageError(ctx, "read the pack's items", err)
	}
	return &schemas.Record{MemoryItem: item, Position: position, Facets: item.Facets()}, nil
}
