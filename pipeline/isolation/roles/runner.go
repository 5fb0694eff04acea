package roles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"satchel/pipeline/isolation"
	"satchel/pipeline/model"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/items"
	"satchel/policies"
	"satchel/schemas"
)

// The roles.
const (
	Planner     = "planner"
	Retriever   = "retriever"
	Verifier    = "verifier"
	Synthesizer = "synthesizer"
	Sentinel    = "sentinel"
	caller      = "caller" // where a run begins and ends
)

// Names lists the roles in the order of the walk.
func Names() []string { return []string{Planner, Retriever, Verifier, Synthesizer, Sentinel} }

// Source is the CloudEvents source of the hand-overs.
const Source = "satchel://roles"

// Assembler makes context packs; the engine is one.
type Assembler interface {
	Context(ctx context.Context, s scope.Scope, req schemas.ContextRequest) (schemas.ContextResult, error)
}

// Packs opens a pack again, if policy still lets s see all of it.
type Packs interface {
	OpenPack(ctx context.Context, s scope.Scope, packID string) (schemas.ContextResult, error)
}

// Log is the part of the event log that the roles need.
type Log interface {
	eventlog.Appender
	Head(ctx context.Context, s scope.Scope) (eventlog.Head, error)
	Read(ctx context.Context, s scope.Scope, after int64, limit int) ([]eventlog.Entry, error)
	BySubject(ctx context.Context, s scope.Scope, subject string, types ...string) ([]eventlog.Entry, error)
}

// RemoteRole plays a role in another process.
type RemoteRole interface {
	Execute(ctx context.Context, s scope.Scope, role string, req schemas.RoleRequest) (schemas.RoleReply, error)
}

// Config is what a Runner is made of. Assembler, Packs, Log, Items, PDP and Embedder are
// required.
type Config struct {
	Assembler Assembler
	Packs     Packs
	Log       Log
	Items     items.Store
	PDP       policies.PDP
	Embedder  model.Embedder

	Model    model.Chat            // the synthesizer's; nil: it answers with sentences of the context
	Deadline time.Duration         // of the model; default 30 s
	Tokens   func(string) int      // counts what a model is shown; default characters ÷ 4
	Remote   map[string]RemoteRole // roles that another process plays
	Prices   isolation.Prices      // of models, for the metrics of a run; default: nothing costs

	Zone   *time.Location // whose days an answer names where the request names no zone; default UTC
	Clock  func() time.Time
	IDs    func() string // UUIDv7
	Logger *slog.Logger
}

// Runner plays the roles.
type Runner struct {
	cfg            Config
	anomalyMonitor *anomalyMonitor
	detector       *pii.Detector
}

// New returns a runner.
func New(cfg Config) (*Runner, error) {
	if cfg.Assembler == nil || cfg.Packs == nil || cfg.Log == nil || cfg.Items == nil || cfg.PDP == nil || cfg.Embedder == nil {
		return nil, errors.New("new runner: assembler, packs, log, items, policy decision point and embedder are required")
	}
	if cfg.Deadline <= 0 {
		cfg.Deadline = 30 * time.Second
	}
	if cfg.Tokens == nil {
		cfg.Tokens = func(text string) int { return (len([]rune(text)) + 3) / 4 }
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.IDs == nil {
		cfg.IDs = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	detector, err := pii.New(pii.Config{})
	if err != nil {
		return nil, err
	}
	cfg.PDP = policies.Sourced(cfg.PDP, cfg.Items.Get)
	anomalyMonitor, err := newWatch(cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("new roles: %w", err)
	}
	return &Runner{cfg: cfg, anomalyMonitor: anomalyMonitor, detector: detector}, nil
}

// step is one role at work for one run.
type step struct {
	*Runner
	s       scope.Scope
	role    string
	req     schemas.RoleRequest
	policy  schemas.AppliedPolicy
	id      string // of the hand-over to come
	started time.Time
	begun   bool // the run is known to be this principal's

	extractive bool                   // the model is not asked
	context    *schemas.ContextResult // of the pack, once it is open
	view       isolation.View         // what the model is shown, once it is taken
	metrics    schemas.TokenCostEnvelope
}

// findZone is that of the days that an answer names.
func (st *step) findZone() *time.Location {
	zone, _ := schemas.Zone(st.req.TZ) // which was validated
	return cmp.Or(zone, st.cfg.Zone, time.UTC)
}

// Execute plays one role and commits its hand-over. Every error is a *schemas.Error.
func (c *Runner) Execute(ctx context.Context, s scope.Scope, role string, req schemas.RoleRequest) (schemas.RoleReply, error) {
	st := &step{Runner: c, s: s, role: role, req: req, begun: req.RequestID == ""}
	if st.begun {
		st.req.RequestID = c.cfg.IDs()
	}
	reply, _, err := st.playStep(ctx)
	return reply, makeCallerError(ctx, err)
}

// playStep checks, works and hands over.
func (st *step) playStep(ctx context.Context) (schemas.RoleReply, handover, error) {
	st.started, st.id = st.cfg.Clock(), st.cfg.IDs()
	if err := st.admitMessage(ctx); err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	work, ok := map[string]func(context.Context, *schemas.RoleReply) error{
		Planner: st.planTask, Retriever: st.retrieveContext, Verifier: st.verifyStage, Synthesizer: st.synthesizeAnswer, Sentinel: st.guardRun,
	}[st.role]
	if !ok {
		return schemas.RoleReply{}, handover{}, &schemas.Error{Code: schemas.CodeValidation, Message: "there is no such role"}
	}
	reply := schemas.RoleReply{Role: st.role, RequestID: st.req.RequestID, PackID: st.req.PackID, Warnings: []string{}}
	if err := work(ctx, &reply); err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	state, err := st.makeRuntimeState(&reply)
	if err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	reply.State = state
	h, err := st.handOver(ctx, &reply, false)
	return reply, h, err
}

// admitMessage holds the message to the role's whitelist and asks policy.
func (st *step) admitMessage(ctx context.Context) error {
	if err := st.s.Check(); err != nil {
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the request has no scope"}
	}
	if err := schemas.Invalid(st.req.Validate()); err != nil {
		return err
	}
	if err := allowedFields(st.role, &st.req); err != nil {
		return err
	}
	claimed := st.claimRun(ctx) // it gives the decision its id; whose run it is, is not for who may not have the role
	r := policies.Resource{ID: st.role, Facets: schemas.Facets{Kind: schemas.Kind(st.role), Labels: []string{}, Session: st.req.Session}}
	d, err := st.cfg.PDP.Decide(ctx, st.s, policies.Request{Action: "act", Now: st.started, Resources: []policies.Resource{r}, RequestID: st.req.RequestID, DecisionID: st.id})
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case err != nil || len(d.Verdicts) != 1:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nobody may have the role " + st.role}
	case !d.Verdicts[0].Allow:
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy does not let this principal have the role " + st.role}
	}
	if claimed != nil {
		return claimed
	}
	st.policy = schemas.AppliedPolicy{Revision: d.Revision, DecisionID: st.id, Allowed: 1}
	return nil
}

// makeCallerError returns the error a caller may see; nil for none.
func makeCallerError(ctx context.Context, err error) error {
	var typed *schemas.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return typed
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "the run's time ran out"}
	}
	return &schemas.Error{Code: schemas.CodeSearch, Message: "the role could not do its work"}
}
