package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
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
	did := filesRead{a: a}
	for _, name := range c.Files {
		if err := c.read(a, name, did.add); err != nil {
			return err
		}
	}
	p, err := did.open(ctx, c.Flags, c.Strict, "lines")
	if err != nil {
		return err
	}
	defer p.close()
	if err := did.publish(ctx, p, "importing experiences"); err != nil {
		return err
	}
	end, err := did.finish(ctx, p)
	if err != nil {
		return err
	}
	return end.report(a, did.FilesResult, fmt.Sprintf("%s read: %d new, %d known already, %d malformed%s\n",
		terminal.Plural(did.Read, "experience", "experiences"), did.fresh, did.Known, did.Malformed, ifAny(did.Refused, ", %d refused")))
}

// read hands over the lines of a file that hold something.
func (c *Experiences) read(a *app.App, name string, add adder) error {
	if _, err := os.Stat(name); name != "-" && err != nil {
		return config.Usagef("%v", err)
	}
	fields, err := newMapping(c.fieldFlags)
	if err != nil {
		return err
	}
	fields.own = source.ExperienceFields()
	l := lines{a: a, name: name, fields: fields, explicit: len(c.Label) > 0}
	l.item = func(raw []byte, in, mapped object) (schemas.MemoryItem, []schemas.Issue) {
		return c.item(raw, in, mapped, fields.own, a.Tenant)
	}
	return l.readFile(a.In, add)
}

// item makes an item of a line: the fields of an experience are read as such, and an item's others are the item's.
func (c *Experiences) item(raw []byte, in, mapped object, own []string, tenant string) (schemas.MemoryItem, []schemas.Issue) {
	rest := maps.Clone(mapped)
	for _, name := range own {
		delete(rest, name)
	}
	line := bytes.TrimSpace(raw)
	if len(c.Map) > 0 || len(mapped) != len(in) || len(rest) > 0 { // else the id is made of the line as it is
		maps.DeleteFunc(mapped, func(name string, _ json.RawMessage) bool { return rest[name] != nil })
		line = source.Encode(mapped)
	}
	item, issues := source.DecodeExperience(line, tenant, c.labels())
	if len(issues) > 0 || len(rest) == 0 {
		return item, issues
	}
	return overlayFields(&item, rest, tenant)
}

// overlayFields gives an item the fields that a line has of it. Its own attributes stay.
func overlayFields(item *schemas.MemoryItem, fields object, tenant string) (schemas.MemoryItem, []schemas.Issue) {
	var own, all object
	if err := json.Unmarshal(item.Attributes, &own); err != nil {
		return *item, []schemas.Issue{{Pointer: "/attributes", Message: "must be an object"}}
	}
	if issues := addAttributes(fields, own); issues != nil {
		return *item, issues
	}
	raw, err := json.Marshal(item)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return *item, wholeLine(err.Error())
	}
	maps.Copy(all, fields)
	return decodeItem(all, tenant)
}
