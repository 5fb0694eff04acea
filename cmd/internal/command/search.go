package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// PrincipalFlags says who asks, and why.
type PrincipalFlags struct {
	As      string   `help:"Who asks." default:"cli" env:"SATCHEL_AS"`
	Level   string   `help:"Clearance claimed: public, internal, confidential, restricted." default:"internal" enum:"public,internal,confidential,restricted"`
	Group   []string `help:"Groups claimed."`
	Role    []string `help:"Roles claimed."`
	Purpose string   `help:"What the data is for."`
}

func (f *PrincipalFlags) agent() *schemas.Agent {
	return &schemas.Agent{Type: "user", ID: f.As, SecurityLevel: f.Level, Groups: f.Group, Roles: f.Role}
}

// SearchFlags are the options that search, preview and build share.
type SearchFlags struct {
	Question      []string `arg:"" help:"What you look for."`
	Limit         int      `help:"Results at most; 0 is 10."`
	Type          []string `help:"Memory types, kinds or categories; repeat for more. Without: all."`
	From          TimeFlag `help:"Created at or after, as 2026-01-31 or 2026-01-31T10:00:00Z." placeholder:"DATE"`
	To            TimeFlag `help:"Created before, as 2026-02-28 or 2026-02-28T10:00:00Z." placeholder:"DATE"`
	MinConfidence float64  `help:"Confidence at least, 0 to 1."`
	MinScore      *float64 `help:"Score under which memories are left out, 0 to 1. Without: that of the settings." placeholder:"SCORE"`
	Session       string   `help:"Of this conversation only."`
	Depth         int      `help:"Follow links this many hops; 0 follows none, and 4, the most, is walked as 3."`
	FilterFlags
}

// TimeFlag is a day or a time.
type TimeFlag struct {
	time.Time
	day bool
}

// In returns the time; of a day the beginning in a zone, nil is UTC.
func (m TimeFlag) In(zone *time.Location) time.Time {
	if m.day && zone != nil {
		return time.Date(m.Year(), m.Month(), m.Day(), 0, 0, 0, 0, zone)
	}
	return m.Time
}

// UnmarshalText reads a date or an RFC 3339 time.
func (m *TimeFlag) UnmarshalText(text []byte) (err error) {
	if m.Time, err = time.Parse(time.DateOnly, string(text)); err == nil {
		m.day = true
		return nil
	}
	if m.Time, err = schemas.ParseTime(string(text)); err == nil {
		return nil
	}
	return fmt.Errorf("%q is neither a date such as 2026-01-31 nor a time such as 2026-01-31T10:00:00Z", text)
}

// Request returns the request that the flags make. tz is the zone of its days.
func (f *SearchFlags) Request(who *PrincipalFlags, tz string) schemas.SearchRequest {
	zone, _ := schemas.Zone(tz) // Operation refuses what is none
	req := schemas.SearchRequest{
		From: who.agent(), Purpose: who.Purpose, Query: strings.Join(f.Question, " "), Limit: f.Limit, MemoryTypes: f.Type,
		DateFrom: f.From.In(zone), DateTo: f.To.In(zone), TZ: tz, ConversationID: f.Session, IncludeRelationships: f.Depth != 0, RelationshipDepth: f.Depth,
		MinScore: f.MinScore, Filters: f.filters(),
	}
	if f.MinConfidence != 0 {
		req.MinConfidence = &f.MinConfidence
	}
	return req
}

// Search is satchel search.
type Search struct {
	SearchFlags
	PrincipalFlags
	EmptyFlag
}

// Run searches and prints what it finds, best first.
func (c *Search) Run(ctx context.Context, a *app.App) error {
	var out schemas.SearchReply
	if err := Operation(ctx, a, "search", c.Request(&c.PrincipalFlags, a.TZ), &out); err != nil {
		return err
	}
	if a.JSON {
		return errors.Join(PrintJSON(a, out), c.check(len(out.Results)))
	}
	if len(out.Results)+len(out.Warnings) == 0 {
		fmt.Fprintln(a.Out, "nothing was found that this principal may see")
	}
	zone, err := a.Zone()
	if err != nil {
		return err
	}
	on := func(t time.Time) string { return t.In(zone).Format(time.DateOnly) }
	for _, r := range out.Results {
		fmt.Fprintf(terminal.Beneath(a.Out), "%2d. %.3f  %s  %s, %s\n", r.Rank, r.Score, bold(a, terminal.Excerpt(r.Memory.ID, 400)), terminal.Excerpt(string(r.Memory.Metadata.Kind), 400), on(r.Memory.Metadata.CreatedAt))
		if from := r.Memory.Metadata.SourceURI; from != "" {
			fmt.Fprintf(a.Out, "    %s\n", terminal.Excerpt(from, 200))
		}
		fmt.Fprintf(a.Out, "    %s\n", terminal.Excerpt(r.Memory.Said(), 200))
		for _, v := range r.Versions {
			says := "the same"
			if v.Difference != "" {
				says = r.Memory.Metadata.Flagged.Quote(v.Difference)
			}
			fmt.Fprintf(a.Out, "    %s  %s: %s\n", on(v.CreatedAt), terminal.Excerpt(v.ID, 400), terminal.Excerpt(says, 200))
		}
		for _, l := range r.Relationships {
			fmt.Fprintf(a.Out, "    %s %s %s: %s\n", l.Relationship.From, l.Relationship.Rel, l.Relationship.To, terminal.Excerpt(l.Memory.Said(), 100))
		}
	}
	printWarnings(a, out.Warnings)
	return c.check(len(out.Results))
}

func printWarnings(a *app.App, list []string) {
	for _, w := range list {
		fmt.Fprintf(a.Err, "warning: %s\n", terminal.Excerpt(w, 400))
	}
}

// colour reports whether output goes to a terminal that may be coloured.
func colour(a *app.App) bool {
	f, ok := file(a)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}

func bold(a *app.App, text string) string {
	if !colour(a) {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// printMarkdown prints a text, with its headings and bold words bright on a terminal.
func printMarkdown(a *app.App, text string) error {
	text = language.Shown(text)
	if colour(a) {
		text = Brighten(text)
	}
	_, err := io.WriteString(terminal.Beneath(a.Out), text)
	return err
}

// Brighten makes headings and bold words of Markdown bright, and notes dim.
func Brighten(text string) string {
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
