package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// PackSource is the CloudEvents source of what the engine writes to the log; with the
// pack's id it finds the pack's entry.
const PackSource = "satchel://engine"

// Head answers log.v1.<tenant>.head.
func (v *Service) Head(ctx context.Context, tenant string, _ []byte) (any, error) {
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	reply, err := v.log.SignedHead(ctx, s)
	if err != nil {
		return nil, storageError(ctx, "sign the head", err)
	}
	return reply, nil
}

// Prove answers log.v1.<tenant>.prove.
func (v *Service) Prove(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.Decode[schemas.ProveRequest])
	if err != nil {
		return nil, err
	}
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	if req.Position == 0 && req.ID != "" {
		entry, err := v.log.Find(ctx, s, req.Source, req.ID)
		if err != nil {
			return nil, storageError(ctx, "find the entry", err)
		}
		req.Position = entry.Position
	}
	head, err := v.log.SignedHead(ctx, s)
	if err != nil {
		return nil, storageError(ctx, "sign the head", err)
	}
	reply := schemas.ProveReply{Checkpoint: head.Checkpoint}
	if req.Position > 0 {
		proof, err := v.log.ProveInclusion(ctx, s, req.Position, head.Size)
		if err != nil {
			return nil, storageError(ctx, "prove the entry", err)
		}
		reply.Inclusion = &proof
		preimage, err := v.log.Preimage(ctx, s, req.Position)
		if err != nil {
			return nil, storageError(ctx, "read the entry", err)
		}
		reply.Preimage = string(preimage)
	}
	if req.OldSize > 0 {
		proof, err := v.log.ProveConsistencyAt(ctx, s, req.OldSize, head.Size)
		if err != nil {
			return nil, storageError(ctx, "prove consistency", err)
		}
		reply.Consistency = &proof
	}
	return reply, nil
}

func (v *Service) prove(ctx context.Context, s scope.Scope, position int64) (string, *schemas.InclusionProof, error) {
	head, err := v.log.SignedHead(ctx, s)
	if err != nil {
		return "", nil, err
	}
	proof, err := v.log.ProveInclusion(ctx, s, position, head.Size)
	if err != nil {
		return "", nil, err
	}
	return head.Checkpoint, &proof, nil
}

// Pack answers log.v1.<tenant>.pack: the stored result, byte for byte, for the
// principal it was made for or an auditor, if policy still allows every item in it.
func (v *Service) Pack(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decode(body, schemas.Decode[schemas.PackRequest])
	if err != nil {
		return nil, err
	}
	leave, err := v.begin(ctx, tenant)
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
		entry, err := v.log.Find(ctx, s, PackSource, req.PackID)
		if err != nil {
			return none, storageError(ctx, "find the pack", err)
		}
		position = entry.Position
	}
	entry, err := v.log.Entry(ctx, s, position)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		return none, storageError(ctx, "read the pack", err)
	}
	if err != nil || entry.Type != schemas.TypeContextPacked {
		return none, &schemas.Error{Code: schemas.CodeValidation, Message: "there is no such pack", Field: "/position"}
	}
	var pack schemas.ContextPack
	if err := json.Unmarshal(entry.Data, &pack); err != nil {
		return none, storageError(ctx, "read the pack", err)
	}
	if err := may(&pack); err != nil {
		return none, err
	}
	stored, err := v.log.Attachment(ctx, s, position)
	if err != nil {
		return none, storageError(ctx, "read the pack", err)
	}
	return storedPack{stored, position}, nil
}

func (v *Service) mayOpen(ctx context.Context, tenant string, from *schemas.Agent, pack *schemas.ContextPack) error {
	s, err := v.Scope(tenant, from, pack.Purpose)
	if err != nil {
		return err
	}
	return v.maySee(ctx, s, pack)
}

// maySee asks policy whether s may see all of a pack.
func (v *Service) maySee(ctx context.Context, s scope.Scope, pack *schemas.ContextPack) error {
	denied := &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy does not allow this pack"}
	if p := s.Principal(); p.ID != pack.Principal && !p.HasRole("auditor") {
		return denied
	}
	var ids []string
	hidden := map[string][]string{} // what of an item the pack does not show
	under := map[string]schemas.Obligations{}
	for _, section := range pack.Sections {
		for _, item := range section.Items {
			ids = append(ids, item.ID)
			hidden[item.ID] = item.Redactions
			if item.Obligations != nil {
				under[item.ID] = *item.Obligations
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	records, err := v.stores.Items.Get(ctx, s, ids)
	if err != nil {
		return storageError(ctx, "read the pack's items", err)
	}
	if len(records) != len(ids) { // nothing is known of an item, so nothing allows it
		return denied
	}
	resources := make([]policies.Resource, len(records))
	for i := range records {
		resources[i] = policies.ResourceOf(&records[i])
	}
	d, err := v.pdp.Decide(ctx, s, policies.Request{Action: "read", Now: v.now(), Resources: resources, RequestID: pack.RequestID})
	if err != nil || len(d.Verdicts) != len(resources) {
		return denied
	}
	for i, verdict := range d.Verdicts {
		shown := func(path string) bool { return !slices.Contains(hidden[records[i].ID], path) }
		if !verdict.Allow || slices.ContainsFunc(verdict.Redact, shown) || !under[records[i].ID].Covers(verdict.Obligations) {
			return denied
		}
	}
	return nil
}
