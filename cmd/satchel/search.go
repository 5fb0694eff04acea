package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"satchel/jetstream"
	"satchel/pipeline"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/schemas"
	"satchel/worker"
)

// served is how an endpoint answers.
type served = func(ctx context.Context, tenant string, body []byte) (any, error)

// checked is a request that says what is wrong with it.
type checked[T any] interface {
	*T
	Validate() []schemas.Issue
}

// serveDoor decodes a door's request and runs it for who asks. A context type that is
// not there is left to the engine, which has a code of its own for it.
func serveDoor[R any, P checked[R], O any](v *worker.Service, who func(*R) (*schemas.Agent, string), run func(context.Context, scope.Scope, R) (O, error)) served {
	return func(ctx context.Context, tenant string, body []byte) (any, error) {
		req, issues := schemas.Decode[R, P](body)
		if err := schemas.Invalid(issues); err != nil && !strings.HasPrefix(err.Field, "/context_types/") {
			return nil, err
		}
		from, purpose := who(&req)
		return v.Serve(ctx, tenant, from, purpose, func(s scope.Scope) (any, error) {
			out, err := run(ctx, s, req)
			if err != nil {
				return nil, err
			}
			return out, nil
		})
	}
}

// doors are the engine's answers by the verb of ctx.v1.<tenant>.<verb>.
func doors(v *worker.Service, e *pipeline.Engine) map[string]served {
	return map[string]served{
		"search":    serveDoor(v, func(r *schemas.SearchRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Search),
		"build":     serveDoor(v, func(r *schemas.BuildRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Build),
		"preview":   serveDoor(v, func(r *schemas.BuildRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Preview),
		"assemble":  serveDoor(v, func(r *schemas.AssembleRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Assemble),
		"premortem": serveDoor(v, func(r *schemas.PremortemRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, e.Premortem),
		"compact": serveDoor(v, func(r *schemas.CompactRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, func(ctx context.Context, s scope.Scope, r schemas.CompactRequest) (schemas.CompactReply, error) {
			if r.PackID == "" {
				return e.Compact(ctx, s, r, nil)
			}
			stored, err := v.OpenPack(ctx, s, r.PackID)
			if err != nil {
				return schemas.CompactReply{}, err
			}
			return e.Compact(ctx, s, r, &stored)
		}),
		"recover": serveDoor(v, func(r *schemas.RecoverRequest) (*schemas.Agent, string) { return r.From, r.Purpose }, func(ctx context.Context, s scope.Scope, r schemas.RecoverRequest) (schemas.RecoverReply, error) {
			stored, err := v.OpenPack(ctx, s, r.PackID)
			if err != nil {
				return schemas.RecoverReply{}, err
			}
			return e.Recover(ctx, s, r, &stored)
		}),
		"template": serveDoor(v, func(r *schemas.TemplateRequest) (*schemas.Agent, string) { return r.From, "" }, e.Templates),
	}
}

// context sends a request to ctx.v1.<tenant>.<verb>.
func (c *client) context(ctx context.Context, verb string, request, reply any) error {
	subject, err := jetstream.ContextSubject(c.tenant, verb)
	if err != nil {
		return &usageError{err}
	}
	return c.call(ctx, subject, request, reply)
}

// door dials, sends one request and hangs up.
func (a *app) door(ctx context.Context, verb string, request, reply any) error {
	conn, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.used(ctx); err != nil {
		return err
	}
	return conn.context(ctx, verb, request, reply)
}

// used refuses to ask a tenant that has no log: the answer would be the first entry of one,
// and the tenant is misspelt or has nothing to tell.
func (c *client) used(ctx context.Context) error {
	var head schemas.HeadReply
	if err := c.logCall(ctx, "head", struct{}{}, &head); err != nil || head.Size > 0 {
		return nil // what is wrong, the question meets as well
	}
	return usagef("tenant %q is empty: nothing was ever recorded there", c.tenant)
}

// asker says who asks, and why.
type asker struct {
	As      string   `help:"Who asks." default:"cli"`
	Level   string   `help:"Clearance claimed: public, internal, confidential, restricted." default:"internal" enum:"public,internal,confidential,restricted"`
	Group   []string `help:"Groups claimed."`
	Role    []string `help:"Roles claimed."`
	Purpose string   `help:"What the data is for."`
}

func (f *asker) agent() *schemas.Agent {
	return &schemas.Agent{Type: "user", ID: f.As, SecurityLevel: f.Level, Groups: f.Group, Roles: f.Role}
}

// finder are the options that search, preview and build share.
type finder struct {
	Question      []string `arg:"" help:"What you look for."`
	Limit         int      `help:"Results at most; 0 is 10."`
	Type          []string `help:"Memory types, kinds or categories; repeat for more. Without: all."`
	From          moment   `help:"Created at or after, as 2026-01-31 or 2026-01-31T10:00:00Z." placeholder:"DATE"`
	To            moment   `help:"Created before, as 2026-02-28 or 2026-02-28T10:00:00Z." placeholder:"DATE"`
	MinConfidence float64  `help:"Confidence at least, 0 to 1."`
	MinScore      *float64 `help:"Score under which memories are left out, 0 to 1. Without: that of the settings." placeholder:"SCORE"`
	Session       string   `help:"Of this conversation only."`
	Depth         int      `help:"Follow links this many hops; 0 follows none, and 4, the most, is walked as 3."`
}

// moment is a day, from its beginning in UTC, or a time.
type moment struct{ time.Time }

// UnmarshalText reads a date or an RFC 3339 time.
func (m *moment) UnmarshalText(text []byte) (err error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if m.Time, err = time.Parse(layout, string(text)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%q is neither a date such as 2026-01-31 nor a time such as 2026-01-31T10:00:00Z", text)
}

func (f *finder) request(who *asker) schemas.SearchRequest {
	req := schemas.SearchRequest{
		From: who.agent(), Purpose: who.Purpose, Query: strings.Join(f.Question, " "), Limit: f.Limit, MemoryTypes: f.Type,
		DateFrom: f.From.Time, DateTo: f.To.Time, ConversationID: f.Session, IncludeRelationships: f.Depth != 0, RelationshipDepth: f.Depth,
		MinScore: f.MinScore,
	}
	if f.MinConfidence != 0 {
		req.MinConfidence = &f.MinConfidence
	}
	return req
}

type searchCmd struct {
	finder
	asker
}

// Help shows how it is called.
func (searchCmd) Help() string {
	return `Examples:
  satchel search "when is the kiln fired?"
  satchel search --min-score 0.3 "when is the kiln fired?"
  satchel search --type experience --type code --limit 5 --depth 1 "selector cache"`
}

// Run searches and prints what it finds, best first.
func (c *searchCmd) Run(ctx context.Context, a *app) error {
	var out schemas.SearchReply
	if err := a.door(ctx, "search", c.request(&c.asker), &out); err != nil {
		return err
	}
	if err := a.warnUnused(ctx, len(out.Results) == 0); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(out)
	}
	if len(out.Results)+len(out.Warnings) == 0 {
		fmt.Fprintln(a.out, "nothing was found that this principal may see")
	}
	for _, r := range out.Results {
		fmt.Fprintf(beneath(a.out), "%2d. %.3f  %s  %s, %s\n", r.Rank, r.Score, a.bold(excerpt(r.Memory.ID, 400)), excerpt(string(r.Memory.Metadata.Kind), 400), r.Memory.Metadata.CreatedAt.UTC().Format(time.DateOnly))
		if from := r.Memory.Metadata.SourceURI; from != "" {
			fmt.Fprintf(a.out, "    %s\n", excerpt(from, 200))
		}
		fmt.Fprintf(a.out, "    %s\n", excerpt(r.Memory.Content.Text(), 200))
		for _, l := range r.Relationships {
			fmt.Fprintf(a.out, "    %s %s %s: %s\n", l.Relationship.From, l.Relationship.Rel, l.Relationship.To, excerpt(l.Memory.Content.Text(), 100))
		}
	}
	a.printWarnings(out.Warnings)
	return nil
}

// excerpt is the beginning of a text on one line, fit for a terminal.
func excerpt(text string, most int) string { return oneLine(pack.Printable(text), most) }

func (a *app) printWarnings(list []string) {
	for _, w := range list {
		fmt.Fprintf(a.err, "warning: %s\n", excerpt(w, 400))
	}
}

// colour reports whether output goes to a terminal that may be coloured.
func (a *app) colour() bool {
	f, ok := a.file()
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}

func (a *app) bold(text string) string {
	if !a.colour() {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// printMarkdown prints a text, with its headings and bold words bright on a terminal.
func (a *app) printMarkdown(text string) error {
	text = pack.Printable(text)
	if a.colour() {
		text = brighten(text)
	}
	_, err := io.WriteString(beneath(a.out), text)
	return err
}

// brighten makes headings and bold words of Markdown bright, and notes dim.
func brighten(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(body, "#"):
			body = "\x1b[1;36m" + body + "\x1b[0m"
		case strings.HasPrefix(body, "*") && !strings.HasPrefix(body, "**") && strings.HasSuffix(body, "*"):
			body = "\x1b[2m" + body + "\x1b[0m"
		default:
			for range strings.Count(body, "**") / 2 {
				body = strings.Replace(body, "**", "\x1b[1m", 1)
				body = strings.Replace(body, "**", "\x1b[0m", 1)
			}
		}
		b.WriteString(body)
		if len(line) > 0 && line[len(line)-1] == '\n' {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
