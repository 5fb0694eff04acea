package roles

import (
	"context"
	"errors"

	"satchel/schemas"
)

// retrieveContext has the engine assemble the context. Its pack, drop report and decisions are
// entries of the same run.
func (st *step) retrieveContext(ctx context.Context, reply *schemas.RoleReply) error {
	req := schemas.ContextRequest{
		Meta: schemas.Meta{Type: schemas.MessageContextRequest, ID: st.req.RequestID},
		Payload: schemas.RequestPayload{
			Query: schemas.Query{Text: st.req.Task}, Session: st.req.Session, TZ: st.req.TZ, Purpose: st.s.Purpose(), TokenBudget: st.req.TokenBudget,
			MinPosition: st.req.MinPosition, IncludeScores: true, Repeat: schemas.RepeatFull, Compaction: schemas.CompactionAuto,
			Fill: true,
		},
	}
	if req.Payload.TokenBudget == 0 && st.req.Plan != nil {
		req.Payload.TokenBudget = st.req.Plan.TokenBudget
	}
	if req.Payload.TokenBudget == 0 {
		req.Payload.TokenBudget = schemas.DefaultTokenBudget
	}
	if st.cfg.Model == nil {
		steps := 1
		if st.req.Plan != nil {
			steps = len(st.req.Plan.Steps)
		}
		req.Payload.TokenBudget = min(req.Payload.TokenBudget, steps*quotedTokens)
	}
	res, err := st.cfg.Assembler.Context(ctx, st.s, req)
	if err != nil {
		return err
	}
	if res.Payload.PackID == "" {
		return errors.New("retrieve: the assembler gave no pack")
	}
	st.keepContext(&res)
	reply.PackID = res.Payload.PackID
	reply.Warnings = append(reply.Warnings, res.Payload.Explainability.Warnings...)
	return nil
}

// ensurePackOpen makes sure that the pack is at hand.
func (st *step) ensurePackOpen(ctx context.Context) error {
	if st.req.PackID == "" {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/pack_id", Message: "is required: the context to work on"}
	}
	if st.context != nil && st.context.Payload.PackID == st.req.PackID {
		return nil
	}
	res, err := st.cfg.Packs.OpenPack(ctx, st.s, st.req.PackID)
	if err != nil {
		return err
	}
	st.keepContext(&res)
	return nil
}

func (st *step) keepContext(res *schemas.ContextResult) {
	st.context = res
	st.metrics = schemas.TokenCostEnvelope{TokenBudget: res.Payload.Pack.TokenBudget, TokenActual: res.Payload.Pack.TokenActual}
}
