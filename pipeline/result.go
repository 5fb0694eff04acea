package pipeline

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/isolation"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// result makes the reply, without positions and proof.
func (c *Committing) result(ctx context.Context, rec *Recorder, f final) (*schemas.ContextResult, error) {
	refs, err := c.provenance(ctx, f)
	if err != nil {
		return nil, err
	}
	salt, err := c.log.Salt()
	if err != nil {
		return nil, StorageError("the pack has no salt, so it does not leave")
	}
	results := make([]schemas.ResultItem, len(f.exposed))
	bytes := 0
	for i := range f.exposed {
		results[i] = f.exposed[i].Result
		bytes += results[i].Metadata.ByteSize
	}
	slicing := slicingOf(f)
	slicing.BudgetUsed = schemas.BudgetUsed{Bytes: bytes, EstimatedTokens: f.packed.Tokens, Items: len(results)}
	timings := rec.Timings()
	res := &schemas.ContextResult{
		Meta: schemas.Meta{Type: schemas.MessageContextResult, ID: c.ids(), ReplyTo: f.req.ID},
		Payload: schemas.ResultPayload{
			Results: results, TotalCount: f.ranked.Found, Sources: orEmpty(f.ranked.Sources), QueryDurationMS: timings.TotalMS,
			PackID: f.report.Requester.PackID, Text: f.packed.Text, Pack: c.contextPack(f, refs, salt), Drop: f.report.Requester,
			Explainability: schemas.Explainability{
				TLDR: f.packed.TLDR, Affordances: f.packed.Affordances, CausalGraph: f.packed.Causal,
				Warnings: orEmpty(f.packed.Notes), Slicing: slicing, Timings: timings,
			},
		},
	}
	if f.req.Options.IncludeScores {
		selection.Annotate(&res.Payload, signalsOf(&f.ranked))
	}
	return res, nil
}

// orEmpty is the list, or an empty one for nil, which JSON would write as null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// slicingOf counts what policy and the budget took from the request. Only an auditor is told
// how many items policy denied.
func slicingOf(f final) (out schemas.Slicing) {
	if isAuditor(f.req.Scope) {
		out.TotalDenied = len(f.ranked.Decision.Denied)
	}
	for i := range f.ranked.Candidates {
		c := &f.ranked.Candidates[i]
		switch {
		case c.Drop == schemas.DropBudget:
			out.TotalDroppedBudget++
		case c.Kept() && c.Redacted:
			out.TotalRedacted++
		}
	}
	return out
}

// signalsOf returns the H4R signals of what was found by its id.
func signalsOf(r *Ranked) func(id string) map[string]float64 {
	of := make(map[string]*candidate.Signals, len(r.Candidates)+len(r.Unread))
	for i := range r.Unread {
		of[r.Unread[i].ID] = r.Unread[i].Signals
	}
	for i := range r.Candidates {
		of[r.Candidates[i].ID] = r.Candidates[i].Signals
	}
	return func(id string) map[string]float64 { return of[id].Map() }
}

// provenance points from the pack to the log entries of its items.
func (c *Committing) provenance(ctx context.Context, f final) ([]schemas.ProvenanceRef, error) {
	refs := make([]schemas.ProvenanceRef, len(f.exposed))
	positions := make([]int64, len(f.exposed))
	for i := range f.exposed {
		refs[i] = f.exposed[i].Provenance
		positions[i] = refs[i].Position
	}
	if c.Leaves == nil || len(refs) == 0 {
		return refs, nil
	}
	leaves, err := c.Leaves.Leaves(ctx, f.req.Scope, positions)
	if err != nil || len(leaves) != len(refs) {
		return nil, StorageError("the log entries of the items could not be read")
	}
	for i := range refs {
		refs[i].Leaf = leaves[i]
	}
	return refs, nil
}

// contextPack is the pack by reference. Its hashes take in the salt.
func (c *Committing) contextPack(f final, refs []schemas.ProvenanceRef, salt [32]byte) schemas.ContextPack {
	s := f.req.Scope
	out := schemas.ContextPack{
		ID: f.report.Requester.PackID, SessionID: f.req.Session, CreatedAt: f.req.Times.Ranking,
		TokenBudget: f.plan.Tokens, TokenActual: f.packed.Tokens, Tokenizer: c.models.Tokens(f.req.Model).Name(),
		PolicyDecisions: make([]string, len(f.exposed)), Sections: sectionsShown(f), ProvenanceRefs: refs,
		RequestID: f.req.ID, Principal: s.Principal().ID, Purpose: s.Purpose(), AsOf: f.plan.AsOf,
		Salt: hex.EncodeToString(salt[:]), RenderedSHA256: schemas.SaltedSHA256(salt[:], []byte(f.packed.Text)), Relevance: f.plan.Relevance,
	}
	if p := &f.ranked.Profile; p.Name != "" {
		limits := &f.req.Limits
		out.Ranking = p.Trace()
		out.Ranking.Limit = limits.Items
		out.Ranking.MinScore = limits.MinScore
		out.Ranking.MaxBytes = limits.Bytes
		out.Ranking.Prefer = f.req.Options.Prefer
	}
	out.Embedding = f.ranked.Embedding
	if out.Embedding == "" && c.models.Embedder != nil {
		out.Embedding = c.models.Embedder.Model().String()
	}
	if len(f.exposed) > 0 { // an erasure of what is shown takes the question with it
		out.Query = f.req.Query
	}
	for i := range f.exposed {
		out.PolicyDecisions[i] = f.exposed[i].Item.Evidence.PolicyDecisionID
	}
	return out
}

// sectionsShown are the sections of the pack with their items.
func sectionsShown(f final) []schemas.ContextSection {
	exposed := make(map[int]*isolation.Exposed, len(f.exposed)) // by candidate
	for n, i := range f.packed.Shown {
		exposed[i] = &f.exposed[n]
	}
	out := make([]schemas.ContextSection, len(f.packed.Sections))
	for n, sec := range f.packed.Sections {
		items := make([]schemas.ContextItem, len(sec.Items))
		for j, i := range sec.Items {
			items[j] = exposed[i].Item
		}
		out[n] = schemas.ContextSection{
			Type: sec.Type, TokenBudget: sec.Budget, TokenActual: sec.Tokens, Items: items, SelectionReason: sec.Reason,
		}
	}
	return out
}

// resultEncoder keeps the encodings of the larger fields of a result's payload, which the log
// and the reply share. Together with the rest they are byte for byte the output of encoding/json
// for the result.
type resultEncoder struct {
	results, text, pack, drop []byte
	logged                    []byte // the pack as the log has it
}

// noHash is how an empty result_sha256 is encoded.
const noHash = `"result_sha256":""`

// seal encodes the result with an empty result_sha256, then sets that field to the hash of the
// encoding. It returns the encoding and keeps the parts, which lie in it but for the pack: once
// a result is made, only the hash in its pack changes. shown
// are the items that the result shows. The pack of the result MUST have its salt, which the hash takes
// in with the encoding.
func (p *resultEncoder) seal(res *schemas.ContextResult, shown []string) (eventlog.Derived, error) {
	*p = resultEncoder{}
	pack := res.Payload.Pack.Logged()
	join := parallel.Start(func() (err error) {
		p.pack, err = json.Marshal(&res.Payload.Pack)
		return err
	})
	defer join()
	var dropErr, resultsErr error
	p.drop, dropErr = json.Marshal(&res.Payload.Drop)
	p.results, resultsErr = json.Marshal(&res.Payload.Results)
	if err := errors.Join(join(), dropErr, resultsErr); err != nil {
		return eventlog.Derived{}, err
	}
	var logged []byte
	joinLogged := parallel.Start(func() (err error) {
		logged, err = json.Marshal(&pack)
		return err
	})
	defer joinLogged()
	raw, err := p.encode(res)
	if err != nil {
		return eventlog.Derived{}, err
	}
	body := eventlog.Derive(shown, raw)
	res.Payload.Pack.ResultSHA256 = body.Hex()
	if err := joinLogged(); err != nil {
		return eventlog.Derived{}, err
	}
	if p.pack, err = hashed(p.pack, body.Hex()); err == nil {
		p.logged, err = hashed(logged, body.Hex())
	}
	return body, err
}

// hashed returns an encoded pack with a hash in its place. Nothing that a caller writes comes
// after it in a pack.
func hashed(pack []byte, hash string) ([]byte, error) {
	at := bytes.LastIndex(pack, []byte(noHash))
	if at < 0 {
		return nil, errors.New("splice pack: its hash has no place")
	}
	at += len(noHash) - 1
	out := make([]byte, 0, len(pack)+len(hash))
	return append(append(append(out, pack[:at]...), hash...), pack[at:]...), nil
}

// encode is json.Marshal of the result. It makes the parts that are not there yet.
func (p *resultEncoder) encode(res *schemas.ContextResult) ([]byte, error) {
	r := &res.Payload
	var o jsonObject
	o.enc = json.NewEncoder(&o.out)
	room := len(p.results) + len(p.text) + len(p.pack) + len(p.drop) + 8<<10
	if p.text == nil {
		room += 2 * len(r.Text)
	}
	o.out.Grow(room)
	o.out.WriteByte('{')
	o.add("meta", &res.Meta)
	o.raw("payload", []byte{'{'})
	results := o.part("results", p.results, &r.Results)
	o.add("total_count", r.TotalCount)
	o.add("query_duration_ms", r.QueryDurationMS)
	o.add("sources", r.Sources)
	o.add("explainability", &r.Explainability)
	o.add("pack_id", r.PackID)
	text := o.part("text", p.text, &r.Text)
	pack := o.part("pack", p.pack, &r.Pack)
	drop := o.part("drop_report", p.drop, &r.Drop)
	o.add("positions", &r.Positions)
	if r.Proof != nil {
		o.add("proof", r.Proof)
	}
	if r.DataRef != nil {
		o.add("dataref", r.DataRef)
	}
	o.out.WriteString("}}")
	out := o.out.Bytes()
	*p = resultEncoder{results: results.of(out), text: text.of(out), pack: pack.of(out), drop: drop.of(out)}
	return out, o.err
}

// jsonObject writes the fields of a JSON object.
type jsonObject struct {
	out bytes.Buffer
	enc *json.Encoder // to out
	err error         // the first one
}

// span is where a value stands in out.
type span struct{ from, to int }

func (s span) of(out []byte) []byte { return out[s.from:s.to:s.to] }

// part writes a field as raw, or encodes it when that is nil.
func (o *jsonObject) part(name string, raw []byte, field any) span {
	if raw == nil {
		return o.add(name, field)
	}
	return o.raw(name, raw)
}

func (o *jsonObject) add(name string, field any) span {
	from := o.name(name)
	err := o.enc.Encode(field)
	if o.err == nil {
		o.err = err
	}
	if err == nil {
		o.out.Truncate(o.out.Len() - 1) // a newline
	}
	return span{from, o.out.Len()}
}

func (o *jsonObject) raw(name string, value []byte) span {
	from := o.name(name)
	o.out.Write(value)
	return span{from, o.out.Len()}
}

// name writes a field's name and returns where its value starts.
func (o *jsonObject) name(name string) int {
	if b := o.out.Bytes(); b[len(b)-1] != '{' {
		o.out.WriteByte(',')
	}
	o.out.WriteByte('"')
	o.out.WriteString(name)
	o.out.WriteString(`":`)
	return o.out.Len()
}
