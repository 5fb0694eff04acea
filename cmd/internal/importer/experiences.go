package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source/experience"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Experiences is satchel import experiences.
type Experiences struct {
	Flags
	Files  []string `arg:"" help:"JSONL files, one experience a line; - reads standard input."`
	Strict bool     `help:"Publish nothing when a line is malformed."`
}

// Help shows how it is called.
func (Experiences) Help() string {
	return `Each line is a GHAP entry: domain, strategy, goal, hypothesis, action, prediction, outcome_status (confirmed,
falsified or abandoned), outcome_result, surprise, root_cause, lesson, confidence_tier, iteration_count,
created_at and id. The nested forms outcome {status, result}, root_cause {category, description} and
lesson {what_worked, takeaway} are read too. It becomes the item ghap:<id> of kind experience.

What is wrong is printed line by line. Importing a file again stores nothing twice.

Examples:
  satchel import experiences ghap.jsonl
  satchel premortem --domain debugging
  satchel values`
}

// Run publishes the experiences.
func (c *Experiences) Run(ctx context.Context, a *app.App) error {
	var items []schemas.MemoryItem
	var where []string
	var did FilesResult
	bad := &publisher{a: a}
	for _, name := range c.Files {
		err := c.read(a, name, func(line int, raw []byte, issues []schemas.Issue) {
			did.Read++
			var item schemas.MemoryItem
			if issues == nil {
				issues = schemas.Repeated(raw)
			}
			if issues == nil {
				item, issues = experience.Decode(bytes.TrimSpace(raw), a.Tenant, c.Label)
			}
			at := fmt.Sprintf("%s:%d", name, line)
			if len(issues) > 0 {
				bad.malformed(at, issues)
				return
			}
			items, where = append(items, item), append(where, at)
		})
		if err != nil {
			return err
		}
	}
	if c.Strict && bad.Malformed > 0 {
		return &command.FoundError{What: fmt.Sprintf("%d of %d lines are malformed; nothing was published", bad.Malformed, did.Read)}
	}
	p, err := newPublisher(ctx, a, c.Flags)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.addAll(ctx, "importing experiences", items, where); err != nil {
		return err
	}
	indexed, err := p.finish(ctx)
	if err != nil {
		return err
	}
	did.Published, did.Known, did.Malformed, did.Refused = p.Published, p.Known, bad.Malformed+p.Malformed, p.Refused()
	if a.JSON {
		err = command.PrintJSON(a, did)
	} else {
		refused := ""
		if did.Refused > 0 {
			refused = fmt.Sprintf(", %d refused", did.Refused)
		}
		_, err = fmt.Fprintf(a.Out, "%s read: %d new, %d known already, %d malformed%s\n", terminal.Plural(did.Read, "experience", "experiences"), p.New(), p.Known, did.Malformed, refused)
	}
	return errors.Join(err, printUnfinished(a, indexed || a.JSON, did.Malformed, did.Refused))
}

// read hands over the lines of a file that hold something.
func (c *Experiences) read(a *app.App, name string, line func(int, []byte, []schemas.Issue)) error {
	if _, err := os.Stat(name); name != "-" && err != nil {
		return config.Usagef("%v", err)
	}
	r, closeFile, err := command.Open(name, a.In)
	if err != nil {
		return err
	}
	defer closeFile()
	if err := schemas.EachLine(r, line); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
