package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	itemsqlite "satchel/pipeline/store/items/sqlite"
	"satchel/policies"
	"satchel/policies/fallback"
	"satchel/policies/opaembed"
	"satchel/policies/rego"
	"satchel/schemas"
)

type policyCmd struct {
	Test    policyTestCmd    `cmd:"" help:"Run the bundle's Rego tests with coverage; exit 3 when one fails."`
	Explain policyExplainCmd `cmd:"" help:"Say which rule decides on an item for a principal, and what is redacted."`
	Show    policyShowCmd    `cmd:"" help:"Print the built-in bundle, or write it into a folder."`
}

type policyTestCmd struct {
	Path string `name:"bundle" help:"Bundle to test: a folder, a .rego file or a signed archive; empty: the one in force." type:"path"`
}

// Help shows how it is called.
func (policyTestCmd) Help() string {
	return "Examples:\n  satchel policy test\n  satchel policy test --bundle ./policy\n  POLICY_BUNDLE=./policy satchel policy test --json"
}

// Run runs the tests and prints each that fails, and what none reached.
func (c *policyTestCmd) Run(ctx context.Context, a *app) error {
	source := a.bundle()
	if c.Path != "" {
		source.Path = c.Path
	}
	test := source.Test
	if source.Path == "" {
		test = func(ctx context.Context) (opaembed.TestReport, error) { return opaembed.TestFS(ctx, rego.WithTests()) }
	}
	report, err := test(ctx)
	if err != nil {
		return &usageError{err}
	}
	if a.JSON {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		for _, t := range report.Tests {
			if !t.Passed {
				fmt.Fprintf(a.out, "NO   %s  %s:%d  %s\n", t.Name, t.File, t.Line, t.Error)
			}
		}
		fmt.Fprintf(a.out, "%d tests, %d failed, %.1f %% of the bundle covered\n", len(report.Tests), report.Failed, report.Coverage)
		for _, missed := range report.Missed {
			fmt.Fprintf(a.out, "not covered: %s\n", missed)
		}
	}
	switch {
	case report.Failed > 0:
		return &foundError{fmt.Sprintf("%d of %d policy tests fail", report.Failed, len(report.Tests))}
	case len(report.Tests) == 0:
		return &foundError{"the bundle has no tests"}
	}
	return nil
}

type policyShowCmd struct {
	Fallback bool   `help:"The five local rules instead."`
	Out      string `help:"Write the files, with the tests, into this folder: a bundle to begin with. No file that is there is touched." type:"path"`
}

// Help shows how it is called.
func (policyShowCmd) Help() string {
	return "Examples:\n  satchel policy show\n  satchel policy show --out ./policy"
}

// Run prints the Rego of the bundle, or writes its files.
func (c *policyShowCmd) Run(a *app) error {
	var bundle fs.FS = rego.Bundle()
	if c.Fallback {
		bundle = fallback.Rules()
	}
	names, err := fs.Glob(bundle, "*.rego")
	if err != nil {
		return err
	}
	if c.Out != "" {
		if !c.Fallback {
			bundle = rego.WithTests()
		}
		return c.write(a, bundle)
	}
	texts := map[string]string{}
	for _, name := range names {
		raw, err := fs.ReadFile(bundle, name)
		if err != nil {
			return err
		}
		texts[name] = string(raw)
		if !a.JSON {
			fmt.Fprintf(a.out, "# ---- %s ----\n%s\n", name, raw)
		}
	}
	if a.JSON {
		return a.printJSON(texts)
	}
	return nil
}

// write copies the bundle into a folder.
func (c *policyShowCmd) write(a *app, bundle fs.FS) error {
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.CopyFS(c.Out, bundle); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if a.JSON {
		return a.printJSON(map[string]string{"folder": c.Out})
	}
	fmt.Fprintf(a.out, "written to %s; try it with: satchel policy test --bundle %s\n", c.Out, c.Out)
	return nil
}

type policyExplainCmd struct {
	As      string   `help:"Who asks." default:"cli"`
	Level   string   `help:"Clearance claimed: public, internal, confidential, restricted." default:"internal" enum:"public,internal,confidential,restricted"`
	Group   []string `help:"Groups claimed."`
	Role    []string `help:"Roles claimed."`
	Purpose string   `help:"What the data is for."`
	Action  string   `help:"What is to be done: read, open, write, erase, follow, or use, of a tool." default:"read"`
	Item    string   `help:"The item, a memory as JSON; @FILE reads a file. Either this or --id." xor:"item"`
	ID      string   `help:"Id of an item that is stored. Either this or --item." xor:"item"`
}

// Help shows how it is called.
func (policyExplainCmd) Help() string {
	return `Examples:
  satchel policy explain --as helpdesk --level internal --id mem-001
  satchel policy explain --as risk_officer --group risk --item '{"id":"x","security_label":["level:internal","group:risk"],"content":{"text":"…"}}'
  satchel policy explain --item @memory.json --json`
}

// policyAnswer is what explain prints.
type policyAnswer struct {
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
func (c *policyExplainCmd) Run(ctx context.Context, a *app) error {
	if c.Item == "" && c.ID == "" {
		return usagef("name an item with --id, or give one with --item")
	}
	d, registry, err := a.openPolicy(ctx, a.logger(a.err))
	if err != nil {
		return err
	}
	defer d.stop()
	claim := schemas.Agent{Type: "user", ID: c.As, SecurityLevel: c.Level, Groups: c.Group, Roles: c.Role}
	principal, err := registry.Resolve(a.Tenant, claim, true)
	if err != nil {
		return &usageError{err}
	}
	s, err := scope.New(a.Tenant, principal, c.Purpose)
	if err != nil {
		return &usageError{err}
	}
	record, err := c.record(ctx, a, s)
	if err != nil {
		return err
	}
	resource := policies.ResourceOf(record)
	if c.Action == policies.ActionUse {
		if record.Kind != schemas.KindTool {
			return usagef("use is decided on tools, and item %q is of kind %s", record.ID, record.Kind)
		}
		resource = policies.ToolOf(record)
	}
	request := policies.Request{Action: c.Action, Now: time.Now(), Resources: []policies.Resource{resource}}
	answer, err := explain(ctx, d, s, request)
	if err != nil {
		return err
	}
	answer.Item, answer.Action, answer.Principal = record.ID, c.Action, s.Principal()
	if answer.Allow && c.Action != policies.ActionUse { // that says nothing of what may be read
		z, err := a.openSanitizer()
		if err != nil {
			return err
		}
		if z.Apply(a.Tenant, record, answer.Redact, answer.Obligations) {
			answer.Shown = &record.Content
		}
	}
	if a.JSON {
		return a.printJSON(answer)
	}
	return answer.print(a)
}

func explain(ctx context.Context, d *decisionPoint, s scope.Scope, r policies.Request) (*policyAnswer, error) {
	if p, ok := d.PDP.(*opaembed.PDP); ok {
		e, err := p.Explain(ctx, s, r)
		return &policyAnswer{Allow: e.Verdict.Allow, Reason: e.Verdict.Reason, Redact: e.Verdict.Redact, Obligations: e.Verdict.Obligations,
			Revision: e.Revision, File: e.File, Line: e.Line, Rule: e.Rule}, err
	}
	decide := d.Decide
	if d.standby != nil {
		decide = d.standby.Decide // as for whom an exception read:unavailable names
	}
	got, err := decide(ctx, s, r)
	if err != nil {
		return nil, err
	}
	v := got.Verdicts[0]
	return &policyAnswer{Allow: v.Allow, Reason: v.Reason, Redact: v.Redact, Obligations: v.Obligations, Revision: got.Revision, Warnings: got.Warnings}, nil
}

// record reads the item from the command line or the store.
func (c *policyExplainCmd) record(ctx context.Context, a *app, s scope.Scope) (*schemas.Record, error) {
	if c.ID != "" {
		return a.storedItem(ctx, s, c.ID)
	}
	raw := []byte(c.Item)
	if name, ok := strings.CutPrefix(c.Item, "@"); ok {
		var err error
		if raw, err = os.ReadFile(name); err != nil {
			return nil, usagef("read item: %v", err)
		}
	}
	var m schemas.MemoryItem
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, usagef("read item: %v", err)
	}
	if m.Kind == "" {
		m.Kind = schemas.KindMemory
	}
	return &schemas.Record{MemoryItem: m, Facets: m.Facets()}, nil
}

func (a *app) storedItem(ctx context.Context, s scope.Scope, id string) (*schemas.Record, error) {
	path := a.path("index", "items.db")
	if _, err := os.Stat(path); err != nil {
		return nil, usagef("no items in %s: %v", a.Dir, err)
	}
	db, err := itemsqlite.Open(ctx, itemsqlite.Config{Path: path})
	if err != nil {
		return nil, fmt.Errorf("open items: %w", err)
	}
	records, err := items.New(db).Get(ctx, s, []string{id})
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, usagef("tenant %s has no item %q", a.Tenant, id)
	}
	return &records[0], nil
}

func (p *policyAnswer) print(a *app) error {
	verdict := "denied"
	if p.Allow {
		verdict = "allowed"
	}
	fmt.Fprintf(a.out, "%s  item %s, action %s, for %s (%s)\n", verdict, p.Item, p.Action, p.Principal.ID, schemas.Level(p.Principal.Level))
	fmt.Fprintf(a.out, "reason    %s\n", p.Reason)
	if p.File != "" {
		fmt.Fprintf(a.out, "rule      %s, line %d\n", p.File, p.Line)
		for line := range strings.Lines(p.Rule + "\n") {
			fmt.Fprintf(a.out, "            %s", line)
		}
	}
	fmt.Fprintf(a.out, "revision  %s\n", p.Revision)
	for _, path := range p.Redact {
		fmt.Fprintf(a.out, "redacted  %s\n", path)
	}
	if o := p.Obligations; o.PII != "" {
		fmt.Fprintf(a.out, "masked    %s: %s\n", o.PII, strings.Join(o.Types, ", "))
	}
	if n := p.Obligations.Summarise; n > 0 {
		fmt.Fprintf(a.out, "extract   of at most %d tokens\n", n)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.out, "warning   %s\n", w)
	}
	if p.Shown != nil {
		shown, err := json.Marshal(p.Shown)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "shown     %s\n", shown)
	}
	return nil
}
