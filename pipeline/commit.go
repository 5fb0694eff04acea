package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/goccy/go-json"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/isolation"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// Outcome is the end of a request.
type Outcome struct {
	Result  schemas.ContextResult
	Ranked  Ranked
	Packed  Packed
	encoder *resultEncoder // of Result

	SummaryPositions []int64 // in the log, of the kept summaries; 0 for one that was erased
}

// final is all that a request is committed from.
type final struct {
	req     Request
	plan    Plan
	ranked  Ranked
	packed  Packed
	report  Report
	exposed []isolation.Exposed
}

// Committing writes the log.
type Committing struct {
	Proofs
	log    eventlog.Appender
	models Models
	ids    func() string
}

// JSON is the result as JSON. Parts that the log and the reply share are encoded once.
func (o *Outcome) JSON() ([]byte, error) {
	res := o.Result
	return o.encoder.encode(&res)
}

// entries writes the pack, the drop report and the decision to the log and returns the result
// with their positions. The attachment of the pack is the result as it leaves, without the values
// that are known only afterwards: result_sha256, positions and proof.
func (c *Committing) entries(ctx context.Context, rec *Recorder, f final) (Outcome, error) {
	var res *schemas.ContextResult
	encoder := &resultEncoder{}
	batch, err := staged(ctx, rec, "encode", func(ctx context.Context) (batch eventlog.Batch, err error) {
		if res, err = c.result(ctx, rec, f); err != nil {
			return batch, err
		}
		return c.batch(rec, f, res, encoder)
	})
	if err != nil {
		return Outcome{}, err
	}
	appended, err := staged(ctx, rec, "log", func(ctx context.Context) ([]eventlog.Outcome, error) {
		return c.appendEntries(ctx, batch)
	})
	if err != nil {
		return Outcome{}, err
	}
	p := &res.Payload
	p.Positions = schemas.Positions{Pack: appended[0].Position, Drop: appended[1].Position, Decision: appended[2].Position}
	if f.req.Options.IncludeProofs && p.Positions.Pack > 0 {
		p.Proof, err = staged(ctx, rec, "prove", func(ctx context.Context) (*schemas.PackProof, error) {
			return c.prove(ctx, f.req.Scope, p.Positions.Pack)
		})
		if err != nil {
			return Outcome{}, unstored(ctx, "the pack could not be proved")
		}
	}
	p.Explainability.Timings = rec.Timings()
	p.QueryDurationMS = p.Explainability.Timings.TotalMS
	return Outcome{
		Result: *res, Ranked: f.ranked, Packed: f.packed, encoder: encoder,
		SummaryPositions: summaryPositions(appended[requestDrafts:]),
	}, nil
}

// summaryPositions are the log positions of the kept summaries, 0 for one that was erased.
func summaryPositions(of []eventlog.Outcome) []int64 {
	var out []int64
	for _, o := range of {
		at := o.Position
		if o.Status != eventlog.Appended && o.Status != eventlog.Duplicate {
			at = 0
		}
		out = append(out, at)
	}
	return out
}

// requestDrafts is how many entries every request has in the log: its pack, its drop report
// and its decision. Those of summaries follow.
const requestDrafts = 3

// appendEntries writes the entries of a request. Its own must be new; a summary may be there
// already. A tenant of which nothing was ever recorded has no log: there, nothing is written.
func (c *Committing) appendEntries(ctx context.Context, batch eventlog.Batch) ([]eventlog.Outcome, error) {
	out, err := c.log.Append(ctx, batch)
	failed := err != nil || len(out) != len(batch.Drafts)
	for i := 0; !failed && i < requestDrafts; i++ {
		failed = out[i].Status != eventlog.Appended && out[i].Status != eventlog.Absent
	}
	if failed {
		return nil, unstored(ctx, "the pack could not be logged, so it does not leave")
	}
	return out, nil
}

// unstored is the error of a request that the log did not serve, or not in time.
func unstored(ctx context.Context, message string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return StorageError(message)
}

// prove returns the signed head and the proof that it covers position.
func (c *Committing) prove(ctx context.Context, s scope.Scope, position int64) (*schemas.PackProof, error) {
	head, err := c.Prover.SignedHead(ctx, s)
	if err != nil {
		return nil, err
	}
	inclusion, err := c.Prover.ProveInclusion(ctx, s, position, head.Size)
	if err != nil {
		return nil, err
	}
	return &schemas.PackProof{Checkpoint: head.Checkpoint, Inclusion: inclusion}, nil
}

// batch makes the log entries of a request and leaves the encodings of the result in enc.
func (c *Committing) batch(rec *Recorder, f final, res *schemas.ContextResult, enc *resultEncoder) (eventlog.Batch, error) {
	report := f.report.Full
	decision := f.ranked.Decision.Logged
	hash := f.ranked.Decision.hash
	var dropped, decided []byte
	alike := len(f.ranked.Decision.Denied) == 0 && !f.req.Options.IncludeScores // the requester's report and the log's
	join := parallel.Start(func() (err error) {
		if !alike {
			if dropped, err = json.Marshal(&report); err != nil {
				return fmt.Errorf("encode drop report: %w", err)
			}
		}
		if decision.InputHash, err = hash.wait(); err != nil {
			return err
		}
		if decided, err = json.Marshal(&decision); err != nil {
			return fmt.Errorf("encode decision: %w", err)
		}
		return nil
	})
	defer join()
	attachment, err := enc.seal(res, IDsOf(f.ranked.Candidates, f.packed.Shown))
	if err != nil {
		err = fmt.Errorf("encode result: %w", err)
	}
	if err := errors.Join(err, join()); err != nil {
		return eventlog.Batch{}, err
	}
	if alike {
		dropped = enc.drop
	}
	packed := newDraft(rec, f.req, schemas.TypeContextPacked, f.report.Requester.PackID, enc.logged)
	packed.Attachment = attachment
	out := eventlog.Batch{Drafts: []eventlog.Draft{
		packed,
		newDraft(rec, f.req, schemas.TypeContextDropped, report.ID, dropped),
		newDraft(rec, f.req, schemas.TypePolicyDecided, decision.ID, decided),
	}}
	for i := range f.packed.Summaries {
		if s := &f.packed.Summaries[i]; s.Item != nil {
			d := newDraft(nil, f.req, schemas.TypeMemoryRecorded, s.ID, nil) // without the request's span: the same summary again is the same event
			d.Subject, d.Time, d.Source, d.Item = s.ID, s.At, schemas.SourceCompaction, eventlog.Derive(s.Sources, s.Item)
			out.Drafts = append(out.Drafts, d)
		}
	}
	out.Quiet = len(out.Drafts) == requestDrafts
	return out, nil
}

// newDraft makes a log entry of a request.
func newDraft(rec *Recorder, req Request, eventType, id string, data []byte) eventlog.Draft {
	ext := map[string]string{"datacontenttype": "application/json"}
	if schema := schemas.DataSchema(eventType); schema != "" {
		ext["dataschema"] = schema
	}
	if parent := rec.traceparent(); parent != "" {
		ext["traceparent"] = parent
	}
	return eventlog.Draft{
		Tenant: req.Scope.Tenant(), Agent: agent, Type: eventType, Source: Source, ID: id, Subject: req.ID,
		Time: req.Times.Ranking, Data: data, Extensions: ext,
	}
}

// IDsOf returns the ids of the candidates at the indexes.
func IDsOf(cs []candidate.Candidate, at []int) []string {
	ids := make([]string, len(at))
	for n, i := range at {
		ids[n] = cs[i].ID
	}
	return ids
}
