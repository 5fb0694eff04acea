package write_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/schemas"
)

func labelled(labels ...string) *schemas.MemoryItem {
	return &schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, SecurityLabel: labels, Content: schemas.TextContent("x")}
}

func flagged(content string, flags ...string) *schemas.MemoryItem {
	m := labelled("level:public")
	m.Content, m.PIIFlags = schemas.JSONContent(json.RawMessage(content)), flags
	return m
}

func tool(attributes string) *schemas.MemoryItem {
	m := labelled("level:public")
	m.Kind, m.Attributes = schemas.KindTool, json.RawMessage(attributes)
	return m
}

func TestLowers(t *testing.T) {
	t.Parallel()
	sensitive := labelled("level:public")
	high := .9
	sensitive.Sensitivity = &high
	for name, c := range map[string]struct {
		old, now *schemas.MemoryItem
		want     bool
	}{
		"the same":                        {labelled("level:internal", "group:a"), labelled("group:a", "level:internal"), false},
		"a higher level":                  {labelled("level:internal"), labelled("level:restricted"), false},
		"a lower level":                   {labelled("level:internal"), labelled("level:public"), true},
		"no level, which is confidential": {labelled("level:restricted"), labelled("x:y"), true},
		"a group more for nobody's":       {labelled("level:public"), labelled("level:public", "group:a"), false},
		"fewer groups":                    {labelled("level:public", "group:a", "group:b"), labelled("level:public", "group:a"), false},
		"another group":                   {labelled("level:public", "group:a"), labelled("level:public", "group:a", "group:b"), true},
		"no group":                        {labelled("level:public", "group:a"), labelled("level:public"), true},
		"no purpose":                      {labelled("level:public", "purpose:a"), labelled("level:public"), true},
		"a purpose in another spelling":   {labelled("level:public", "purpose:A"), labelled("level:public", "purpose:a"), false},
		"no tenant":                       {labelled("level:public", "tenant:acme"), labelled("level:public"), true},
		"no export":                       {labelled("level:public", "export:restricted"), labelled("level:public", "export:allowed"), true},
		"another export":                  {labelled("level:public", "export:restricted"), labelled("level:public", "export:no"), false},
		"export no longer allowed":        {labelled("level:public", "export:allowed"), labelled("level:public"), false},
		"no credentials":                  {labelled("level:public", "credentials:true"), labelled("level:public"), true},
		"a shorter extract":               {labelled("level:public", "extract:20"), labelled("level:public", "extract:7"), false},
		"a longer extract":                {labelled("level:public", "extract:20"), labelled("level:public", "extract:21"), true},
		"no extract":                      {labelled("level:public", "extract:20"), labelled("level:public"), true},
		"a label of one's own":            {labelled("level:public", "hold:legal"), labelled("level:public"), true},
		"nothing detected any more":       {labelled("level:public", "detected:email"), labelled("level:public"), false},
		"less sensitive":                  {sensitive, labelled("level:public"), true},
		"personal as a whole":             {labelled("level:public", "pii:high"), labelled("level:public"), true},
		"still personal":                  {labelled("level:public", "pii:high"), labelled("level:public", "pii:low"), false},
		"personal at a place only":        {labelled("level:public", "pii:high"), flagged(`{"pin":1}`, "$.content.pin"), true},
		"no flag":                         {flagged(`{"pin":1}`, "$.content.pin"), flagged(`{"pin":2}`), true},
		"a flag that is a text now":       {flagged(`{"pin":1}`, "$.content.pin"), labelled("level:public"), true},
		"a flag of what is gone":          {flagged(`{"pin":1,"tel":2}`, "$.content.pin", "$.content.tel"), flagged(`{"pin":1}`, "$.content.pin"), false},
		"a flag that another covers":      {flagged(`{"a":{"b":1}}`, "$.content.a.b"), flagged(`{"a":{"b":1}}`, "$.content.a"), false},
		"all of it is flagged":            {flagged(`{"a":1}`, "$.content.a"), flagged(`{"a":1}`, "$.content"), false},
		"no flag of another field":        {flagged(`{"a":1}`, "$.speaker"), flagged(`{"a":1}`), true},
		"a safety tag more":               {tool(`{"safety_tags":["read_only"]}`), tool(`{"safety_tags":["Read_Only","privileged"]}`), false},
		"no safety tag":                   {tool(`{"safety_tags":["privileged"]}`), tool(`{"safety_tags":["read_only"]}`), true},
		"no attributes":                   {tool(`{"safety_tags":["privileged"]}`), tool(``), true},
	} {
		if got := write.Lowers(c.old, c.now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLowersIsWhatPolicyShows: whoever sees an item recorded again, and did not see it
// before, or sees all of it where it was redacted, sees it for labels that were lowered.
func TestLowersIsWhatPolicyShows(t *testing.T) {
	t.Parallel()
	pdp, err := opa.New(t.Context(), opa.Config{})
	if err != nil {
		t.Fatal(err)
	}
	label := rapid.SampledFrom([]string{"level:public", "level:internal", "level:restricted", "group:a", "group:b", "purpose:support",
		"purpose:Billing", "tenant:other", "export:restricted", "export:allowed", "export:no", "credentials:true", "credentials:false",
		"pii:high", "pii:none", "extract:20", "extract:x", "x:y"})
	flags := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"$.content.a", "$.content.a.b", "$.content.c", "$.content", "phone"}), 0, 2, rapid.ID[string])
	item := func(flags, labels []string) *schemas.MemoryItem {
		m := labelled(labels...)
		m.Content, m.PIIFlags = schemas.JSONContent(json.RawMessage(`{"a":{"b":1},"c":2}`)), flags
		return m
	}
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SliceOfNDistinct(label, 1, 3, rapid.ID[string]).Draw(rt, "labels")
		after := before[rapid.IntRange(0, 1).Draw(rt, "without the first"):]
		after = append(slices.Clone(after), rapid.SliceOfN(label, 0, 1).Draw(rt, "and with")...)
		old, now := item(flags.Draw(rt, "flags"), before), item(flags.Draw(rt, "flags afterwards"), after)
		s, err := scope.New("acme", scope.Principal{ID: "reader", Level: rapid.IntRange(1, 3).Draw(rt, "level"),
			Groups: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 0, 2, rapid.ID[string]).Draw(rt, "groups")},
			rapid.SampledFrom([]string{"", "support", "billing", "export"}).Draw(rt, "purpose"))
		if err != nil {
			rt.Fatal(err)
		}
		r := policies.Request{Action: "read", Now: time.Unix(1, 0), Resources: []policies.Resource{
			policies.ResourceOf(&schemas.Record{MemoryItem: *old, Facets: old.Facets()}), policies.ResourceOf(&schemas.Record{MemoryItem: *now, Facets: now.Facets()})}}
		d, err := pdp.Decide(t.Context(), s, r)
		if err != nil {
			rt.Fatal(err)
		}
		was, is := d.Verdicts[0], d.Verdicts[1]
		more := is.Allow && (!was.Allow || len(was.Redact) > 0 && len(is.Redact) == 0 || was.Obligations.Summarise > 0 && is.Obligations.Summarise == 0)
		if more && !write.Lowers(old, now) {
			rt.Errorf("%v %v after %v %v is shown to whom it was not: %+v after %+v", now.SecurityLabel, now.PIIFlags, old.SecurityLabel, old.PIIFlags, is, was)
		}
	})
}
