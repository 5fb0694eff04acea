package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Hold is satchel hold.
type Hold struct {
	Add     holdAddCmd     `cmd:"" help:"Place a legal hold. Nobody can erase the items it covers until it is released. Give one of --item, --session, --label and --agent."`
	List    holdListCmd    `cmd:"" name:"ls" aliases:"list" help:"List the legal holds."`
	Release holdReleaseCmd `cmd:"" help:"Release a legal hold."`
}

// counsel is who asks.
type counsel struct {
	As   string   `help:"Who asks." default:"cli" env:"SATCHEL_AS"`
	Role []string `help:"Roles claimed: counsel may place holds, hold_releaser release them; these and auditor may list them."`
}

func (c *counsel) from() *schemas.Agent {
	return &schemas.Agent{Type: "user", ID: c.As, SecurityLevel: "internal", Roles: c.Role}
}

type holdAddCmd struct {
	counsel
	Item    []string `help:"These items." placeholder:"ID" xor:"what" required:""`
	Absent  bool     `help:"Hold ids of --item that are not there, for items to come. Without it they are refused."`
	Session string   `help:"Every item of this session, also one that is recorded later." xor:"what" required:""`
	Label   string   `help:"Every item that carries this label." placeholder:"NAME:VALUE" xor:"what" required:""`
	Agent   string   `help:"Every item that this agent publishes." xor:"what" required:""`
	Matter  string   `help:"The case that it is for."`
	Reason  string   `help:"Why the items are kept." required:""`
}

// Run places it.
func (c *holdAddCmd) Run(ctx context.Context, a *app.App) error {
	return askHolds(ctx, a, schemas.HoldRequest{From: c.from(), Place: &schemas.NewHold{Items: c.Item, Absent: c.Absent, Session: c.Session,
		Label: c.Label, Agent: c.Agent, Matter: c.Matter, Reason: c.Reason}})
}

type holdListCmd struct {
	counsel
	Released bool `help:"Those that were released, too."`
}

// Run lists them.
func (c *holdListCmd) Run(ctx context.Context, a *app.App) error {
	return askHolds(ctx, a, schemas.HoldRequest{From: c.from(), Released: c.Released})
}

type holdReleaseCmd struct {
	counsel
	ID     string `arg:"" help:"The hold."`
	Reason string `help:"Why it is released; kept in the log."`
}

// Run releases it.
func (c *holdReleaseCmd) Run(ctx context.Context, a *app.App) error {
	return askHolds(ctx, a, schemas.HoldRequest{From: c.from(), Release: c.ID, Reason: c.Reason})
}

// askHolds asks and prints the holds of the reply.
func askHolds(ctx context.Context, a *app.App, req schemas.HoldRequest) error {
	var reply schemas.HoldReply
	if err := askGoverned(ctx, a, "hold", req, &reply); err != nil {
		return err
	}
	return PrintReply(a, reply.Holds, func(w io.Writer) {
		if len(reply.Holds) == 0 {
			fmt.Fprintln(w, "no legal holds: policy alone says what may be erased")
		}
		for i := range reply.Holds {
			h := &reply.Holds[i]
			fmt.Fprintf(w, "%s\n      because %s; placed by %s at position %d\n", DescribeHold(h), h.Reason, h.Principal, h.Position)
			switch {
			case h.Live:
			case h.ReleaseReason == "":
				fmt.Fprintf(w, "      released by %s\n", h.ReleasedBy)
			default:
				fmt.Fprintf(w, "      released by %s because %s\n", h.ReleasedBy, h.ReleaseReason)
			}
		}
	})
}

// DescribeHold says in one line what a hold keeps and how it stands, without the reason.
func DescribeHold(h *schemas.HoldState) string {
	state := "live  since " + h.At.UTC().Format(time.RFC3339)
	if !h.Live {
		state = "released " + h.ReleasedAt.UTC().Format(time.RFC3339)
	}
	what := terminal.Plural(len(h.Items), "item", "items") + " " + terminal.Excerpt(strings.Join(h.Items, ", "), 200)
	switch {
	case h.Scope.Session != "":
		what = "session " + h.Scope.Session
	case h.Label != "":
		what = "label " + h.Label
	case h.Agent != "":
		what = "agent " + h.Agent
	}
	if h.Matter != "" {
		what += ", matter " + h.Matter
	}
	return fmt.Sprintf("%s  %s  %s", h.ID, state, what)
}
