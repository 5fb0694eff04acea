package roles

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/language"
	"satchel/pipeline/pii"
	"satchel/policies"
	"satchel/schemas"
)

// The stages at which the verifier looks.
const (
	stageContext = "context"
	stageAnswer  = "answer"
)

// verifyStage checks the context, or, when there is one, the answer.
func (st *step) verifyStage(ctx context.Context, reply *schemas.RoleReply) error {
	if err := st.ensurePackOpen(ctx); err != nil {
		return err
	}
	v, err := st.makeVerification(ctx)
	if err != nil {
		return err
	}
	reply.Verification = v
	reply.Answer = st.req.Answer
	return nil
}

func (st *step) makeVerification(ctx context.Context) (*schemas.Verification, error) {
	v := &schemas.Verification{OK: true, Stage: stageContext, Withheld: slices.Clone(st.req.Withheld)}
	records, err := st.readRecords(ctx)
	if err != nil {
		return nil, err
	}
	labels, err := st.checkLabels(ctx, records)
	if err != nil {
		return nil, err
	}
	tools, refused, err := st.checkTools(ctx, records)
	if err != nil {
		return nil, err
	}
	v.Checks = []schemas.Check{labels, tools, st.checkBudget(), st.checkDrops()}
	if st.req.Answer != nil {
		v.Stage = stageAnswer
		v.Checks = append(v.Checks, st.checkCitations(), st.checkSupport(), st.checkPersonalData(), st.toolsNamed(records, refused))
	}
	v.Withheld = append(v.Withheld, refused...)
	slices.Sort(v.Withheld)
	v.Withheld = slices.Compact(v.Withheld)
	if v.Withheld == nil {
		v.Withheld = []string{}
	}
	for _, c := range v.Checks {
		v.OK = v.OK && c.OK
	}
	return v, nil
}

func makeCheck(name string, checked, failed int, detail string) schemas.Check {
	c := schemas.Check{Name: name, OK: failed == 0, Checked: checked, Failed: failed}
	if failed > 0 {
		c.Detail = detail
	}
	return c
}

// readRecords returns the pack's items as they are stored now.
func (st *step) readRecords(ctx context.Context) ([]schemas.Record, error) {
	ids := make([]string, 0, len(st.context.Payload.Results))
	for i := range st.context.Payload.Results {
		ids = append(ids, st.context.Payload.Results[i].ID)
	}
	slices.Sort(ids)
	records, err := st.cfg.Items.Get(ctx, st.s, slices.Compact(ids))
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	return records, nil
}

// checkLabels asks policy again, now, about every item that is shown: it must be allowed, and
// what it has to redact must have been redacted.
func (st *step) checkLabels(ctx context.Context, records []schemas.Record) (schemas.Check, error) {
	hidden := map[string][]string{}
	for _, section := range st.context.Payload.Pack.Sections {
		for i := range section.Items {
			hidden[section.Items[i].ID] = section.Items[i].Redactions
		}
	}
	failed := 0
	for i := range st.context.Payload.Results {
		id := st.context.Payload.Results[i].ID
		if !slices.ContainsFunc(records, func(r schemas.Record) bool { return r.ID == id }) {
			failed++ // nothing is known of it, so nothing allows it
		}
	}
	resources := make([]policies.Resource, len(records))
	for i := range records {
		resources[i] = policies.ResourceOf(&records[i])
	}
	verdicts, err := st.askPolicy(ctx, "read", resources)
	if err != nil {
		return schemas.Check{}, err
	}
	for i, v := range verdicts {
		st.policy.Allowed++
		exposed := func(path string) bool { return !slices.Contains(hidden[records[i].ID], path) }
		if !v.Allow || slices.ContainsFunc(v.Redact, exposed) || st.hasUnmetObligation(records[i].ID, v.Obligations) {
			failed++
			st.policy.Allowed--
			st.policy.Denied++
		} else if len(v.Redact) > 0 {
			st.policy.Redacted++
		}
	}
	return makeCheck("labels", len(st.context.Payload.Results), failed, "policy does not allow what is shown"), nil
}

// hasUnmetObligation reports whether the pack shows of an item what policy now obliges to mask.
func (st *step) hasUnmetObligation(id string, o schemas.Obligations) bool {
	if o.PII == "" {
		return false
	}
	return slices.ContainsFunc(st.detector.Find(st.collectTexts()[id]), func(found pii.Span) bool {
		return len(o.Types) == 0 || slices.Contains(o.Types, string(found.Type))
	})
}

// checkTools asks policy which of the shown tools may be used, by their safety tags. Others
// are kept from the model.
func (st *step) checkTools(ctx context.Context, records []schemas.Record) (schemas.Check, []string, error) {
	var resources []policies.Resource
	for i := range records {
		if records[i].Kind == schemas.KindTool {
			resources = append(resources, policies.ToolOf(&records[i]))
		}
	}
	verdicts, err := st.askPolicy(ctx, policies.ActionUse, resources)
	if err != nil {
		return schemas.Check{}, nil, err
	}
	var refused []string
	for i, v := range verdicts {
		if !v.Allow {
			refused = append(refused, resources[i].ID)
		}
	}
	c := schemas.Check{Name: "tools", OK: true, Checked: len(resources)}
	if len(refused) > 0 {
		c.Detail = "kept from the model: " + strings.Join(refused, ", ")
	}
	return c, refused, nil
}

func (st *step) askPolicy(ctx context.Context, action string, resources []policies.Resource) ([]policies.Verdict, error) {
	if len(resources) == 0 {
		return nil, nil
	}
	d, err := st.cfg.PDP.Decide(ctx, st.s, policies.Request{Action: action, Now: st.cfg.Clock(), Resources: resources,
		RequestID: st.req.RequestID, DecisionID: st.id})
	if err != nil || len(d.Verdicts) != len(resources) {
		return nil, &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nothing may leave"}
	}
	return d.Verdicts, nil
}

func (st *step) checkBudget() schemas.Check {
	pack := &st.context.Payload.Pack
	failed := 0
	if pack.TokenActual > pack.TokenBudget {
		failed = 1
	}
	return makeCheck("budget", 1, failed, fmt.Sprintf("%d tokens in a budget of %d", pack.TokenActual, pack.TokenBudget))
}

// checkDrops checks that nothing is shown and reported as left out, and that the savings add up.
func (st *step) checkDrops() schemas.Check {
	shown := map[string]bool{}
	for i := range st.context.Payload.Results {
		shown[st.context.Payload.Results[i].ID] = true
	}
	report := &st.context.Payload.Drop
	failed := 0
	tokens := 0
	for i := range report.Drops {
		if d := &report.Drops[i]; d.Span == nil && shown[d.ItemID] {
			failed++
		}
		tokens += report.Drops[i].Tokens
	}
	if tokens != report.TokenSavings {
		failed++
	}
	return makeCheck("drops", len(report.Drops), failed, "the drop report does not add up")
}

// checkCitations checks that every sentence cites, and that each citation resolves: to an item
// of the pack that was not withheld, at its place in the log, to bytes as they were shown.
func (st *step) checkCitations() schemas.Check {
	refs := contentRefs(st.context)
	texts := st.collectTexts()
	checked := 0
	failed := 0
	if st.req.Answer.PackID != st.req.PackID {
		failed++
	}
	for i := range st.req.Answer.Sentences {
		s := &st.req.Answer.Sentences[i]
		if len(s.Citations) == 0 {
			checked++
			failed++
		}
		for j := range s.Citations {
			checked++
			c := &s.Citations[j]
			bytes, ok := citedText(c, texts)
			if !ok || c.ContentRef != refs[c.ItemID] || c.SHA256 != hashBytes([]byte(bytes)) || slices.Contains(st.req.Withheld, c.ItemID) {
				failed++
			}
		}
	}
	return makeCheck("citations", checked, failed, "a sentence without a citation, or a citation that does not resolve")
}

// collectTexts are what the pack shows of each item.
func (st *step) collectTexts() map[string]string {
	texts := make(map[string]string, len(st.context.Payload.Results))
	for i := range st.context.Payload.Results {
		texts[st.context.Payload.Results[i].ID] = st.context.Payload.Results[i].Text()
	}
	return texts
}

// findSpeakers are who said each item that the pack names a speaker of: without the agent that wrote for them, and with it. Of an item
// without one they are who wrote it.
func (st *step) findSpeakers() map[string][]string {
	speakers := map[string][]string{}
	for i := range st.context.Payload.Results {
		r := &st.context.Payload.Results[i]
		by := language.Unsigned(r.Metadata.Speaker)
		author := r.Metadata.Author
		text := st.context.Payload.Text
		written := schemas.WrittenBy(by, author)
		switch {
		case by != "" && (strings.Contains(text, "] "+by+": ") || strings.Contains(text, "] "+written+": ")):
			speakers[r.ID] = []string{by, written}
		case author != "":
			speakers[r.ID] = []string{schemas.WrittenBy("", author)}
		}
	}
	return speakers
}

func citedText(c *schemas.Citation, texts map[string]string) (string, bool) {
	text, ok := texts[c.ItemID]
	if !ok || c.Span == nil {
		return text, ok
	}
	if c.Span.Start < 0 || c.Span.End > len(text) || c.Span.Start >= c.Span.End {
		return "", false
	}
	return text[c.Span.Start:c.Span.End], true
}

// checkSupport checks that each sentence says what it cites: word for word, or, in words of a
// model's own, with no number, date or name, and not too many words, that are not there.
// The text of the answer must be its sentences, each as an entry, and their marks, and nothing else.
func (st *step) checkSupport() schemas.Check {
	texts := st.collectTexts()
	speakers := st.findSpeakers()
	failed := 0
	rest := st.req.Answer.Text
	for i := range st.req.Answer.Sentences {
		s := &st.req.Answer.Sentences[i]
		var sources []string
		said := s.Speaker == ""
		for j := range s.Citations {
			if text, ok := citedText(&s.Citations[j], texts); ok {
				sources = append(sources, text)
				said = said || slices.Contains(speakers[s.Citations[j].ItemID], s.Speaker)
			}
		}
		if !said || !isSupported(s, sources, st.req.Task, st.context.Payload.Text) {
			failed++
		}
		text := formatEntry(s.Text)
		at := strings.Index(rest, text)
		if at < 0 || !onlyMarks(rest[:at], s.Speaker) {
			failed++
			continue
		}
		rest = rest[at+len(text):]
	}
	if !onlyMarks(rest, "") {
		failed++
	}
	return makeCheck("support", len(st.req.Answer.Sentences), failed, "a sentence says what its citations do not")
}

// checkPersonalData checks that the answer holds nothing personal that the context does not show.
func (st *step) checkPersonalData() schemas.Check {
	failed := 0
	found := st.detector.Find(st.req.Answer.Text)
	folded := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	shown := folded(st.context.Payload.Text)
	for _, span := range found {
		if !strings.Contains(shown, folded(st.req.Answer.Text[span.Start:span.End])) {
			failed++
		}
	}
	return makeCheck("redactions", len(found), failed, "something personal that the context does not show")
}

// toolsNamed checks that the answer neither cites nor names a tool that may not be used. A name that a cited text has is a word of
// that text.
func (st *step) toolsNamed(records []schemas.Record, refused []string) schemas.Check {
	used := listCitedItems(st.req.Answer)
	failed := 0
	for i := range records {
		if !slices.Contains(refused, records[i].ID) {
			continue
		}
		tool, err := records[i].Tool()
		if slices.Contains(used, records[i].ID) || err == nil && tool.Name != "" && st.hasUncitedWord(tool.Name) {
			failed++
		}
	}
	return makeCheck("tools_named", len(refused), failed, "a tool that policy does not let be used")
}

// hasUncitedWord reports whether the answer has a word that no text has which is cited for it.
func (st *step) hasUncitedWord(word string) bool {
	rest := st.req.Answer.Text
	if !strings.Contains(rest, word) {
		return false
	}
	texts := st.collectTexts()
	for i := range st.req.Answer.Sentences {
		s := &st.req.Answer.Sentences[i]
		for j := range s.Citations {
			if text, ok := citedText(&s.Citations[j], texts); ok && strings.Contains(text, word) {
				rest = strings.Replace(rest, formatEntry(s.Text), "", 1)
				break
			}
		}
	}
	return strings.Contains(rest, word)
}
