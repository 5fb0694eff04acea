package op_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/model/remote"
	"satchel/pipeline/op"
	"satchel/pipeline/pack"
	"satchel/schemas"
	"satchel/test/conformance/chattest"
)

// A model's summary is taken when it holds against what it cites; else sentences of the
// items stand, and a warning says why.
func TestTheModelsSummary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply   chattest.Reply
		method  string
		warning string
	}{
		"holds":   {chattest.Reply{Text: "The lantern hangs at gate 0. [1]"}, "small", ""},
		"made up": {chattest.Reply{Text: "The lantern hangs at gate 3333. [1]"}, "", "did not hold"},
		"down":    {chattest.Reply{Status: 503}, "", "gave no answer"},
		"refused": {chattest.Reply{Status: 403}, "", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := chattest.Serve(t, func(int, chattest.Call) chattest.Reply { return c.reply })
			model, err := remote.NewChat(remote.ChatConfig{URL: e.URL, Model: "small", Retries: -1})
			must(t, err)
			w := openWorld(t, func(cfg *op.Config) { cfg.Summarizer = &pack.Summarizer{Model: model} })
			w.put(t, "acme", notes(1)...)
			res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), explained(func(*schemas.RequestPayload) {}))
			must(t, err)
			x := &res.Payload.Explainability
			if x.TLDR.Method != c.method || len(x.TLDR.Citations) != 1 || x.TLDR.Citations[0] != "n00" {
				t.Errorf("TL;DR is %+v", x.TLDR)
			}
			warned := slices.ContainsFunc(x.Warnings, func(w string) bool { return strings.HasPrefix(w, "tldr: ") && strings.Contains(w, c.warning) })
			if warned != (c.warning != "") {
				t.Errorf("warnings are %q, want %q", x.Warnings, c.warning)
			}
		})
	}
}
