package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Exception is satchel exception.
type Exception struct {
	Add    exceptionAddCmd    `cmd:"" help:"Register a governed exception: what it lets through, for whom, until when, and what ends it."`
	List   exceptionListCmd   `cmd:"" help:"List the governed exceptions."`
	Revoke exceptionRevokeCmd `cmd:"" help:"End a governed exception now."`
}

// governor is who asks.
type governor struct {
	As    string   `help:"Who asks." default:"cli" env:"SATCHEL_AS"`
	Level string   `help:"Clearance claimed: public, internal, confidential, restricted." default:"internal" enum:"public,internal,confidential,restricted"`
	Role  []string `help:"Roles claimed; exception_approver may register and revoke."`
}

func (g *governor) from() *schemas.Agent {
	return &schemas.Agent{Type: "user", ID: g.As, SecurityLevel: g.Level, Roles: g.Role}
}

type exceptionAddCmd struct {
	governor
	Owner   string   `help:"Who answers for it; not who registers it." required:""`
	Path    string   `help:"What it lets through: ACTION:REASON, as read:clearance." placeholder:"ACTION:REASON" required:""`
	For     []string `help:"Principals who may use it." placeholder:"ID" required:""`
	Reason  string   `help:"Why it is needed." required:""`
	Expires string   `help:"When it ends: a time as 2026-12-01T18:00:00Z, or a duration from now as 48h." placeholder:"TIME" required:""`
	Trigger string   `help:"What ends it at once: COUNTER>=N or COUNTER>=N/DURATION; anomalies>=1 where none is given." default:"anomalies>=1" placeholder:"CONDITION"`
	Session string   `help:"Only items of this session."`
	Label   []string `help:"Only items that carry all of these labels." placeholder:"NAME:VALUE"`
	Purpose string   `help:"Only for requests with this purpose."`
	Hook    string   `help:"Agent token under which the ledger tells of every use: prov.v1.<tenant>.exception.HOOK."`
}

// Help shows how it is called.
func (exceptionAddCmd) Help() string {
	return "Paths: " + strings.Join(schemas.ExceptionPaths(), ", ") + `,
and ACTION:REASON for a reason of your own policy bundle.
Counters: uses, denials, injections, anomalies, anomaly.NAME, or an event as request.refused.

Example:
  satchel exception add --as officer --role exception_approver --owner mara --path read:clearance \
    --for auditor-7 --label case:77 --reason "audit of incident 77" --expires 48h --trigger "uses>=20"`
}

// Run registers it.
func (c *exceptionAddCmd) Run(ctx context.Context, a *app.App) error {
	until, err := c.until(time.Now())
	if err != nil {
		return err
	}
	return byFlag(askExceptions(ctx, a, schemas.ExceptionRequest{From: c.from(), Add: &schemas.NewException{Owner: c.Owner, Path: c.Path, Principals: c.For,
		Session: c.Session, Labels: c.Label, Purpose: c.Purpose, Reason: c.Reason, ExpiresAt: until, RollbackTrigger: c.Trigger, AuditHook: c.Hook}}))
}

// byFlag says what is wrong with a registration by the flags that it was given with.
func byFlag(err error) error {
	var refused *schemas.Error
	if !errors.As(err, &refused) {
		return err
	}
	flags := []string{"/add/owner", "--owner", "/add/path", "--path", "/add/principals", "--for", "/add/session", "--session", "/add/labels", "--label",
		"/add/purpose", "--purpose", "/add/reason", "--reason", "/add/expires_at", "--expires", "/add/rollback_trigger", "--trigger", "/add/audit_hook", "--hook"}
	named := func(pointer string) string {
		for i := 0; i < len(flags); i += 2 {
			if pointer == flags[i] || strings.HasPrefix(pointer, flags[i]+"/") {
				return flags[i+1]
			}
		}
		return pointer
	}
	said := *refused
	said.Field, said.Problems = named(refused.Field), slices.Clone(refused.Problems)
	for i := range said.Problems {
		said.Problems[i].Pointer = named(said.Problems[i].Pointer)
	}
	return &said
}

func (c *exceptionAddCmd) until(now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(c.Expires); err == nil {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	at, err := schemas.ParseTime(c.Expires)
	if err != nil {
		return time.Time{}, config.Usagef("--expires %q: give a time as 2026-12-01T18:00:00Z or a duration as 48h", c.Expires)
	}
	return at, nil
}

type exceptionListCmd struct {
	governor
	Ended bool `help:"Those that have ended, too."`
}

// Run lists them.
func (c *exceptionListCmd) Run(ctx context.Context, a *app.App) error {
	return askExceptions(ctx, a, schemas.ExceptionRequest{From: c.from(), Ended: c.Ended})
}

type exceptionRevokeCmd struct {
	governor
	ID string `arg:"" help:"The exception."`
}

// Run revokes it.
func (c *exceptionRevokeCmd) Run(ctx context.Context, a *app.App) error {
	return askExceptions(ctx, a, schemas.ExceptionRequest{From: c.from(), Revoke: c.ID})
}

// askGoverned asks ctx.v1.<tenant>.<verb>, in a tenant that may be empty.
func askGoverned(ctx context.Context, a *app.App, verb string, req, reply any) error {
	conn, err := Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Context(ctx, verb, req, reply)
}

// askExceptions asks and prints the exceptions of the reply.
func askExceptions(ctx context.Context, a *app.App, req schemas.ExceptionRequest) error {
	var reply schemas.ExceptionReply
	if err := askGoverned(ctx, a, "exception", req, &reply); err != nil {
		return err
	}
	return PrintReply(a, reply.Exceptions, func(w io.Writer) {
		if len(reply.Exceptions) == 0 {
			fmt.Fprintln(w, "no governed exceptions: policy holds for everybody")
		}
		for i := range reply.Exceptions {
			x := &reply.Exceptions[i]
			fmt.Fprintf(w, "%s\n      because %s; ends when %s; registered by %s at position %d\n", DescribeException(x), x.Reason, x.RollbackTrigger, x.Principal, x.Position)
		}
	})
}

// DescribeException says in one line what an exception is and how it stands.
func DescribeException(x *schemas.ExceptionState) string {
	state := "live  until " + x.ExpiresAt.UTC().Format(time.RFC3339)
	if !x.Live {
		state = "ended " + x.Cause
		if !x.EndedAt.IsZero() {
			state += " " + x.EndedAt.UTC().Format(time.RFC3339)
		}
	}
	where := ""
	if x.Scope.Session != "" {
		where += ", session " + x.Scope.Session
	}
	if len(x.Labels) > 0 {
		where += ", items with " + strings.Join(x.Labels, " and ")
	}
	if x.Purpose != "" {
		where += ", purpose " + x.Purpose
	}
	return fmt.Sprintf("%s  %s  %s for %s%s, owner %s, %s", x.ID, state, x.Path, strings.Join(x.Principals, ", "), where, x.Owner, terminal.Plural(x.Uses, "use", "uses"))
}
