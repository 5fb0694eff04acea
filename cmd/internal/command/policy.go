package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/rego"
	"satchel/schemas"
)

// Policy is satchel policy.
type Policy struct {
	Test    policyTestCmd    `cmd:"" help:"Run the bundle's Rego tests with coverage; exit 3 when one fails."`
	Explain policyExplainCmd `cmd:"" help:"Say which rule decides on an item for a principal, and what is redacted."`
	Show    policyShowCmd    `cmd:"" help:"Print the built-in bundle, or write it into a folder."`
}

type policyTestCmd struct {
	Path string `name:"bundle" help:"Bundle to test: a folder, a .rego file or a signed archive; empty: the one in force." type:"path"`
}

// Run runs the tests and prints each that fails, and what none reached.
func (c *policyTestCmd) Run(ctx context.Context, a *app.App) error {
	report, err := a.TestPolicy(ctx, c.Path)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	err = PrintReply(a, report, func(w io.Writer) {
		for _, t := range report.Tests {
			if !t.Passed {
				fmt.Fprintf(w, "NO   %s  %s:%d  %s\n", t.Name, t.File, t.Line, t.Error)
			}
		}
		fmt.Fprintf(w, "%d tests, %d failed, %.1f %% of the bundle covered\n", len(report.Tests), report.Failed, report.Coverage)
		for _, missed := range report.Missed {
			fmt.Fprintf(w, "not covered: %s\n", missed)
		}
	})
	switch {
	case err != nil:
		return err
	case report.Failed > 0:
		return &FoundError{What: fmt.Sprintf("%d of %d policy tests fail", report.Failed, len(report.Tests))}
	case len(report.Tests) == 0:
		return &FoundError{What: "the bundle has no tests"}
	}
	return nil
}

type policyShowCmd struct {
	Out string `help:"Write the files, with the tests, into this folder: a bundle to begin with. No file that is there is touched." type:"path"`
}

// Run prints the Rego of the bundle, or writes its files.
func (c *policyShowCmd) Run(a *app.App) error {
	bundle := rego.Bundle()
	names, err := fs.Glob(bundle, "*.rego")
	if err != nil {
		return err
	}
	if c.Out != "" {
		return c.write(a, rego.WithTests())
	}
	texts := map[string]string{}
	for _, name := range names {
		raw, err := fs.ReadFile(bundle, name)
		if err != nil {
			return err
		}
		texts[name] = string(raw)
	}
	return PrintReply(a, texts, func(w io.Writer) {
		for _, name := range names {
			fmt.Fprintf(w, "# ---- %s ----\n%s\n", name, texts[name])
		}
	})
}

// write copies the bundle into a folder.
func (c *policyShowCmd) write(a *app.App, bundle fs.FS) error {
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.CopyFS(c.Out, bundle); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return PrintReply(a, map[string]string{"folder": c.Out}, func(w io.Writer) {
		fmt.Fprintf(w, "written to %s; try it with: satchel policy test --bundle %s\n", c.Out, c.Out)
	})
}

type policyExplainCmd struct {
	PrincipalFlags
	Action string `help:"What is to be done: read, open, write, erase, change, relabel, follow, or use, of a tool." default:"read"`
	Owner  string `help:"Whose the item is, for change and relabel: the agent that recorded it; default its signer."`
	Item   string `help:"The item, a memory as JSON; @FILE reads a file. Either this or --id." xor:"item"`
	ID     string `help:"Id of an item that is stored. Either this or --item." xor:"item"`
}

// PolicyAnswer is what explain prints.
type PolicyAnswer struct {
	Item      string          `json:"item"`
	Action    string          `json:"action"`
	Principal scope.Principal `json:"principal"`
	Allow     bool            `json:"allow"`
	Reason    string          `json:"reason"`
	Redact    []string        `json:"redactedFields"`

	Obligations schemas.Obligations `json:"obligations,omitzero"`

	Shown    *schemas.Content `json:"shown,omitempty"` // the content as this principal sees it
	Revision string           `json:"revision"`
	File     string           `json:"file,omitempty"`
	Line     int              `json:"line,omitempty"`
	Rule     string           `json:"rule,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
}

// Run decides and prints which rule did.
func (c *policyExplainCmd) Run(ctx context.Context, a *app.App) error {
	if c.Item == "" && c.ID == "" {
		return config.Usagef("name an item with --id, or give one with --item")
	}
	registry, err := a.OpenRegistry()
	if err != nil {
		return err
	}
	d, err := a.OpenPolicy(ctx, a.Logger(a.Err))
	if err != nil {
		return err
	}
	defer d.Stop()
	principal, err := registry.Resolve(a.Tenant, *c.agent(), true)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	s, err := scope.New(a.Tenant, principal, c.Purpose)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	record, err := c.record(ctx, a, s)
	if err != nil {
		return err
	}
	resource := policies.ResourceOf(record)
	if c.Action == policies.ActionUse {
		if record.Kind != schemas.KindTool {
			return config.Usagef("use is decided on tools, and item %q is of kind %s", record.ID, record.Kind)
		}
		resource = policies.ToolOf(record)
	}
	if c.Owner != "" {
		resource.Facets.Signer = c.Owner
	}
	request := policies.Request{Action: c.Action, Now: time.Now(), Resources: []policies.Resource{resource}}
	why, err := d.Explain(ctx, s, request)
	if err != nil {
		return err
	}
	answer := &PolicyAnswer{Allow: why.Verdict.Allow, Reason: why.Verdict.Reason, Redact: why.Verdict.Redact, Obligations: why.Verdict.Obligations,
		Revision: why.Revision, File: why.File, Line: why.Line, Rule: why.Rule, Warnings: why.Warnings}
	answer.Item, answer.Action, answer.Principal = record.ID, c.Action, s.Principal()
	if answer.Allow && (c.Action == "read" || c.Action == "open") { // others say nothing of what may be read
		z, err := a.OpenSanitizer()
		if err != nil {
			return err
		}
		if z.Apply(a.Tenant, record, answer.Redact, answer.Obligations) {
			answer.Shown = &record.Content
		}
	}
	shown, err := json.Marshal(answer.Shown)
	if err != nil {
		return err
	}
	return PrintReply(a, answer, func(w io.Writer) { answer.print(w, shown) })
}

// record reads the item from the command line or the store.
func (c *policyExplainCmd) record(ctx context.Context, a *app.App, s scope.Scope) (*schemas.Record, error) {
	if c.ID != "" {
		return a.StoredItem(ctx, s, c.ID)
	}
	raw := []byte(c.Item)
	if name, ok := strings.CutPrefix(c.Item, "@"); ok {
		var err error
		if raw, err = os.ReadFile(name); err != nil {
			return nil, config.Usagef("read item: %v", err)
		}
	}
	m, issues := schemas.DecodeText[schemas.MemoryItem](raw)
	if err := schemas.Invalid(issues); err != nil {
		return nil, &config.UsageError{Err: err}
	}
	if m.Kind == "" {
		m.Kind = schemas.KindMemory
	}
	return &schemas.Record{MemoryItem: m, Facets: m.Facets()}, nil
}

func (p *PolicyAnswer) print(w io.Writer, shown []byte) {
	verdict := "denied"
	if p.Allow {
		verdict = "allowed"
	}
	fmt.Fprintf(w, "%s  item %s, action %s, for %s (%s)\n", verdict, p.Item, p.Action, p.Principal.ID, schemas.Level(p.Principal.Level))
	fmt.Fprintf(w, "reason    %s\n", p.Reason)
	if p.File != "" {
		fmt.Fprintf(w, "rule      %s, line %d\n", p.File, p.Line)
		for line := range strings.Lines(p.Rule + "\n") {
			fmt.Fprintf(w, "            %s", line)
		}
	}
	fmt.Fprintf(w, "revision  %s\n", p.Revision)
	for _, path := range p.Redact {
		fmt.Fprintf(w, "redacted  %s\n", path)
	}
	if o := p.Obligations; o.PII != "" {
		fmt.Fprintf(w, "masked    %s: %s\n", o.PII, strings.Join(o.Types, ", "))
	}
	if n := p.Obligations.Summarise; n > 0 {
		fmt.Fprintf(w, "extract   of at most %d tokens\n", n)
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "warning   %s\n", warning)
	}
	if p.Shown != nil {
		fmt.Fprintf(w, "shown     %s\n", shown)
	}
}
