package policytest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

func words(t *rapid.T, label string, from ...string) []string { return upTo(t, 2, label, from...) }

func upTo(t *rapid.T, most int, label string, from ...string) []string {
	list := rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, most, rapid.ID[string]).Draw(t, label)
	slices.Sort(list)
	return list
}

func drawAction(t *rapid.T) string {
	return rapid.SampledFrom([]string{"read", "read", "read", "open", "write", "erase", "change", "relabel", "register", "follow", "act", "use", "except", "revoke", "hold", "release", "steal"}).Draw(t, "action")
}

func drawPurpose(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "support", "Support", "billing", "export", "EXPORT"}).Draw(t, "purpose")
}

func drawPrincipal(t *rapid.T) scope.Principal {
	return scope.Principal{
		Kind: "agent", ID: rapid.SampledFrom([]string{"planner", "unsigned", `odd"id<`}).Draw(t, "id"),
		Level:  rapid.IntRange(0, 3).Draw(t, "level"),
		Groups: words(t, "groups", "dev", "ops", "qa"),
		Roles:  words(t, "roles", "pii_reader", "pseudonym_reader", "credentials_reader", "eraser", "editor", "declassifier", "template_editor", "auditor", "tool_operator", "exception_approver", "counsel", "hold_releaser"),
	}
}

func drawResource(t *rapid.T) policies.Resource {
	at := func(label string) time.Time {
		return rapid.SampledFrom([]time.Time{
			{}, {}, noon(), noon().Add(time.Nanosecond), noon().Add(-time.Hour), noon().AddDate(5000, 0, 0),
		}).Draw(t, label)
	}
	return policies.Resource{
		ID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "item"),
		Facets: schemas.Facets{
			Kind:        rapid.SampledFrom([]schemas.Kind{"memory", "code", "pack", "drop", "decision", "hold", "planner"}).Draw(t, "kind"),
			Session:     rapid.SampledFrom([]string{"", "s1"}).Draw(t, "session"),
			Level:       schemas.Level(rapid.IntRange(0, 3).Draw(t, "item level")),
			Labels:      upTo(t, 4, "labels", "tenant:acme", "tenant:other", "export:restricted", "export:Restricted", "export:allowed", "safety:read_only", "safety:moves_money", "safety:Destructive", "detected:email", "detected:secret", "detected:", "pii:high", "pii:none", "extract:20", "extract:7", "extract:all", "safety:", "level:x", "ünïcode:\"x\""),
			Groups:      words(t, "item groups", "dev", "ops", "qa"),
			Purposes:    words(t, "purposes", "support", "billing", "export", ""),
			PII:         rapid.Bool().Draw(t, "pii"),
			Credentials: rapid.IntRange(0, 3).Draw(t, "credentials") == 0,
			Trust:       rapid.SampledFrom([]float64{0, 0.29, 0.3, 0.5, 1}).Draw(t, "trust"),
			Sensitivity: rapid.SampledFrom([]float64{0, 0, 0.7, 0.71, 1}).Draw(t, "sensitivity"),
			Signer:      rapid.SampledFrom([]string{"", schemas.Unsigned, "planner", "critic"}).Draw(t, "signer"),
		},
		PIIFlags:  words(t, "flags", "$.content.email", "$.content.phone", "phone"),
		ExpiresAt: at("expires_at"), ValidTo: at("valid_to"),
	}
}

// Draw draws who asks, and a request of n resources.
func Draw(t *rapid.T, n int) (scope.Scope, policies.Request) {
	s := plainScope(t, drawPrincipal(t), drawPurpose(t))
	r := policies.Request{Action: drawAction(t), Now: noon(), Resources: make([]policies.Resource, n)}
	for i := range r.Resources {
		r.Resources[i] = drawResource(t)
	}
	return s, r
}
