package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	fieldFlags
}

// Help shows how it is called.
func (Experiences) Help() string {
	return `Each line is a GHAP entry: domain, strategy, goal, hypothesis, action, prediction, outcome_status (confirmed,
falsified or abandoned), outcome_result, surprise, root_cause, lesson, confidence_tier, iteration_count,
created_at and id. The nested forms outcome {status, result}, root_cause {category, description} and
lesson {what_worked, takeaway} are read too. It becomes the item ghap:<id> of kind experience.

An item's other fields (trust, ttl, valid_to, sensitivity …) are kept. Fields that are neither are named once, and
lines that have them refused: keep them with --map attributes.NAME=YOURS, or leave them out with --drop-unknown.
Where one line has a security_label, a line without one is refused, unless --label says what such lines get.

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
		err := c.read(a, name, func(at string, item schemas.MemoryItem, issues []schemas.Issue) {
			did.Read++
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
func (c *Experiences) read(a *app.App, name string, add func(string, schemas.MemoryItem, []schemas.Issue)) error {
	if _, err := os.Stat(name); name != "-" && err != nil {
		return config.Usagef("%v", err)
	}
	read := lines{name: name, explicit: len(c.Label) > 0}
	var err error
	if read.fields, err = newMapping(c.Map, c.DropUnknown); err != nil {
		return err
	}
	read.fields.own = experience.Fields()
	r, closeFile, err := command.Open(name, a.In)
	if err != nil {
		return err
	}
	defer closeFile()
	if err := read.each(r, func(raw []byte) (schemas.MemoryItem, bool, []schemas.Issue) { return c.decode(a, read.fields, raw) }); err != nil {
		return err
	}
	read.hand(a, add)
	return nil
}

// decode makes an item of a line: the fields of an experience are read as such, and an item's others are the item's.
func (c *Experiences) decode(a *app.App, fields *mapping, raw []byte) (item schemas.MemoryItem, labels bool, issues []schemas.Issue) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(raw, &in); err != nil || in == nil {
		return item, false, []schemas.Issue{{Message: "is not a JSON object"}}
	}
	out, issues := fields.apply(in)
	_, labels = out[labelField]
	if len(issues) > 0 {
		return item, labels, issues
	}
	rest := maps.Clone(out)
	for _, name := range fields.own {
		delete(rest, name)
	}
	line := bytes.TrimSpace(raw)
	if changed := len(c.Map) > 0 || len(out) != len(in) || len(rest) > 0; changed { // else the id is made of the line as it is
		maps.DeleteFunc(out, func(name string, _ json.RawMessage) bool { return rest[name] != nil })
		var err error
		if line, err = json.Marshal(out); err != nil {
			return item, labels, []schemas.Issue{{Message: err.Error()}}
		}
	}
	item, issues = experience.Decode(line, a.Tenant, c.labels())
	if len(issues) > 0 || len(rest) == 0 {
		return item, labels, issues
	}
	item, issues = overlay(&item, rest, a.Tenant)
	return item, labels, issues
}

// overlay gives an item the fields that a line has of it. Its own attributes stay.
func overlay(item *schemas.MemoryItem, fields map[string]json.RawMessage, tenant string) (schemas.MemoryItem, []schemas.Issue) {
	var own map[string]json.RawMessage
	if err := json.Unmarshal(item.Attributes, &own); err != nil {
		return *item, []schemas.Issue{{Pointer: "/attributes", Message: "must be an object"}}
	}
	if issue := addAttributes(fields, own); issue != nil {
		return *item, []schemas.Issue{*issue}
	}
	raw, err := json.Marshal(item)
	if err != nil {
		return *item, []schemas.Issue{{Message: err.Error()}}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return *item, []schemas.Issue{{Message: err.Error()}}
	}
	maps.Copy(all, fields)
	if raw, err = json.Marshal(all); err != nil {
		return *item, []schemas.Issue{{Message: err.Error()}}
	}
	changed, issues := schemas.DecodeMemoryItem(raw)
	if t := changed.Scope.Tenant; len(issues) == 0 && t != tenant {
		issues = []schemas.Issue{otherTenant(t, tenant)}
	}
	return changed, issues
}
