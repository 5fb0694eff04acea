package roles_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// echo plays any role and puts words of an item wherever a reply has room for text.
type echo struct{ words string }

func (p echo) Execute(_ context.Context, _ scope.Scope, role string, req schemas.RoleRequest) (schemas.RoleReply, error) {
	reply := schemas.RoleReply{Role: role, RequestID: req.RequestID, PackID: req.PackID, Warnings: []string{p.words},
		Verification: &schemas.Verification{OK: true, Checks: []schemas.Check{{Name: p.words, OK: true, Detail: p.words}}, Withheld: []string{}},
		Findings:     []schemas.Finding{{Anomaly: p.words, Subject: p.words, Detail: p.words}},
		Answer: &schemas.RoleAnswer{Text: p.words, PackID: req.PackID, Sentences: []schemas.AnswerSentence{{Text: p.words, Citations: []schemas.Citation{{ItemID: p.words}}}},
			Invocation: schemas.ModelInvocation{Model: p.words, ModelSHA256: p.words, ParametersSHA256: p.words, PayloadSHA256: p.words, AnswerSHA256: p.words}}}
	return reply, nil
}

// TestWordsOfAnotherProcess: another process may repeat an item. Its words are in the message
// alone, which an erasure takes away, and not in an entry's data, which stays.
func TestWordsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	const canary = "restarted both proxies and said canary"
	for _, role := range []string{roles.Verifier, roles.Synthesizer, roles.Sentinel} {
		w := open(t, func(c *roles.Config) { c.Remote = map[string]roles.RemoteRole{role: echo{canary}} })
		w.remember(t, outage()...)
		if _, err := w.runner.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{RequestID: "run-1", Task: question}); err != nil && code(err) != "policy_denied " {
			t.Fatal(err)
		}
		showing, err := w.log.Referring(t.Context(), system(t), []string{"n2"})
		must(t, err)
		said := 0
		for _, e := range w.entries(t, "run-1") {
			if bytes.Contains(e.Data, []byte("canary")) {
				t.Errorf("%s: the data of entry %d has words of another process: %s", role, e.Position, e.Data)
			}
			if e.Type != schemas.TypeRoleHandedOver {
				continue
			}
			message, err := w.log.Attachment(t.Context(), system(t), e.Position)
			must(t, err)
			if bytes.Contains(message, []byte("canary")) {
				said++
				if !slices.Contains(showing, e.Position) {
					t.Errorf("%s: entry %d does not refer to the items of the context", role, e.Position)
				}
			}
			var h schemas.Handover
			must(t, json.Unmarshal(e.Data, &h))
			if h.External && h.From == roles.Synthesizer && (h.Invocation == nil || h.Invocation.Model != "elsewhere") {
				t.Errorf("invocation %+v", h.Invocation)
			}
		}
		if said == 0 {
			t.Errorf("%s: nobody hands the words over: the test shows nothing", role)
		}
	}
}
