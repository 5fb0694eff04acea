package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"satchel/cmd/internal/command"
	"satchel/pipeline/language"
	"satchel/schemas"
)

func remembered(t *testing.T) *testNode {
	t.Helper()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays", "--speaker", "Ida")
	n.must(t, "emit", "--item", `{"id":"c1","kind":"code","type":"procedural","content":"func Fire()","attributes":{"file_path":"kiln/fire.go","start_line":7,"language":"go","name":"Fire","unit_type":"function","signature":"func Fire() error","docstring":"Fire heats the kiln."}}`)
	n.must(t, "emit", "--wait", "indexed", "--item", `{"id":"e1","kind":"experience","type":"episodic","content":"the kiln cracked","links":[{"rel":"caused_by","to":"n1"}],"attributes":{"domain":"firing","strategy":"fast","goal":"fire the kiln","outcome_status":"falsified","outcome_result":"it cracked","surprise":"cold clay cracks","root_cause":"no drying","confidence_tier":"gold"}}`)
	return n
}

func TestDoorsOnANode(t *testing.T) {
	t.Parallel()
	n := remembered(t)
	contains(t, "search", n.must(t, "search", "kiln"), " 1. ", "the kiln is fired", "memory, ")
	found := mustJSON[schemas.SearchReply](t, n, "search", "--depth", "1", "--type", "experience", "kiln")
	if len(found.Results) != 1 || len(found.Results[0].Relationships) != 1 || found.Results[0].Relationships[0].Memory.ID != "n1" {
		t.Errorf("search --depth: %+v", found)
	}
	contains(t, "assemble", n.must(t, "assemble", "fire the kiln"), "# Context\n\n## Memories\n**Memory**: Ida: the kiln is fired on Mondays", "`kiln/fire.go:7`", "## Experiences\n", "*3 items from 3 sources*")
	out := mustJSON[schemas.FormattedContext](t, n, "assemble", "--type", "code", "kiln")
	if len(out.Items) != 1 || out.Items[0].Source != "code" || out.Positions.Pack == 0 {
		t.Errorf("assemble --type code: %+v", out)
	}
	contains(t, "premortem", n.must(t, "premortem", "--domain", "firing", "--strategy", "fast"), "# Premortem: firing with fast", "cold clay cracks", "no drying", "FALSIFIED", "*Based on 1 past experience*")
	contains(t, "preview", n.must(t, "preview", "kiln"), "chat: 2 memories, ", "ranked by default (similarity 0.6, recency 0.2, confidence 0.2)\n", "n1")
	contains(t, "preview --ranker", n.must(t, "preview", "--ranker", "similarity", "kiln"), "ranked by similarity\n")
	contains(t, "preview --build", n.must(t, "preview", "--build", "--template", "summary", "kiln"), "Key information:\n", "the kiln is fired on Mondays")
	contains(t, "public", n.run(t, "assemble", "--level", "public", "kiln").err, "nothing was found")
	r := n.run(t, "assemble", "--budget", "1", "kiln")
	command := regexp.MustCompile(`drop report: satchel (.+)\n$`).FindStringSubmatch(r.err)
	if command == nil || r.code != 0 {
		t.Fatalf("assemble --budget 1: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "the drop report", n.must(t, strings.Fields(command[1])...), `"dropped_item_ids":[`, `"n1"`)
	for args, want := range map[string]string{
		"assemble --type poems kiln":     "invalid_context_type: /context_types/0",
		"preview --template nope kiln":   "template_not_found: /template: there is no such template; there are chat, detailed, summary",
		"preview --ranker nope kiln":     "validation_error: /ranker",
		"assemble --budget=-1 kiln":      "/max_tokens",
		"search --limit 10000 kiln":      "/limit",
		"search --min-confidence 7 kiln": "/min_confidence",
	} {
		if r := n.run(t, strings.Split(args, " ")...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("satchel %s: exit code %d, %q", args, r.code, r.err)
		}
	}
}

func TestTemplatesOnANode(t *testing.T) {
	t.Parallel()
	n := remembered(t)
	nc := n.connect(t)
	c := &command.Client{NC: nc, Tenant: "main"}
	from := &schemas.Agent{ID: "cli", SecurityLevel: "internal", Roles: []string{"template_editor"}}
	var list schemas.TemplateReply
	if err := c.Context(t.Context(), "template", schemas.TemplateRequest{From: from, Register: &schemas.ContextTemplate{Name: "mine", MemoryFormat: "<{{content}}>"}}, &list); err != nil || len(list.Templates) != 4 {
		t.Fatalf("register: %+v, %v", list, err)
	}
	unnamed := schemas.TemplateRequest{From: &schemas.Agent{ID: "cli", SecurityLevel: "internal"}, Register: &schemas.ContextTemplate{Name: "other", MemoryFormat: "<{{content}}>"}}
	if err := c.Context(t.Context(), "template", unnamed, &list); err == nil || !strings.HasPrefix(err.Error(), "policy_denied: /register") {
		t.Errorf("without the role: %v", err)
	}
	contains(t, "a registered template", n.must(t, "preview", "--build", "--template", "mine", "kiln fired Mondays"), "<Ida: the kiln is fired on Mondays>")
	for _, bad := range []schemas.TemplateRequest{
		{From: from, Register: &schemas.ContextTemplate{Name: "bad", MemoryFormat: "{{nope}}"}},
		{From: from, Register: &schemas.ContextTemplate{Name: "chat", MemoryFormat: "{{content}}"}},
		{Register: &schemas.ContextTemplate{Name: "x", MemoryFormat: "{{content}}"}},
	} {
		if err := c.Context(t.Context(), "template", bad, &list); err == nil || !strings.HasPrefix(err.Error(), "validation_error: /") || strings.Contains(err.Error(), "/meta") {
			t.Errorf("template %+v: %v", bad.Register, err)
		}
	}
}

func TestBrighten(t *testing.T) {
	t.Parallel()
	got := command.Brighten("# Head\n**Value** and **more\n*note*\nplain\n")
	want := "\x1b[1;36m# Head\x1b[0m\n\x1b[1mValue\x1b[0m and **more\n\x1b[2m*note*\x1b[0m\nplain\n"
	if got != want {
		t.Errorf("%q", got)
	}
}

// TestDroppedComesBackWhole asks for a text that is longer than a screen and has what a
// terminal would obey.
func TestDroppedComesBackWhole(t *testing.T) {
	t.Parallel()
	n := remembered(t)
	long := "the kiln log:\n" + strings.Repeat("\x1b[31mthe kiln is hot, wait for the bell\n", 300) + "the kiln is cold"
	item, err := json.Marshal(map[string]any{"id": "long-1", "kind": "memory", "type": "episodic", "content": long})
	if err != nil {
		t.Fatal(err)
	}
	n.must(t, "emit", "--wait", "indexed", "--item", string(item))
	res := mustJSON[schemas.ContextResult](t, n, "ask", "--budget", "200", "kiln")
	out := n.must(t, "dropped", res.Payload.PackID, "long-1")
	if want := "long-1\n" + language.Shown(long) + "\n"; out != want || strings.Contains(out, "\x1b") {
		t.Errorf("%d bytes came back of %d, beginning %.200q", len(out), len(want), out)
	}
	id := res.Payload.PackID
	report := n.must(t, "dropped", id)
	contains(t, "the drop report", report, "pack "+id+" left out 1 item and 1 part of items that it shows\n",
		"\nit is not about the question:\n  c1  6 tokens; relevance ", "; func Fire()", "\nan extract stands for the whole:\n  long-1:", " tokens; the kiln is hot, wait")
	if strings.Contains(report, "\x1b") || strings.Contains(report, "the kiln is cold") {
		t.Errorf("the drop report is not of short, plain lines:\n%s", report)
	}
	if drops := mustJSON[schemas.DropReport](t, n, "dropped", id); drops.PackID != id || len(drops.Drops) == 0 {
		t.Errorf("the drop report as JSON: %+v", drops)
	}
	n.must(t, "emit", "--wait", "indexed", "--id", "c1", "--label", "level:restricted", "--role", "editor", "--text", "func Fire() is secret")
	if report := n.must(t, "dropped", id); strings.Contains(report, "Fire") || !strings.Contains(report, "  c1  6 tokens; relevance ") {
		t.Errorf("words of an item that may not be seen any more:\n%s", report)
	}
	if r := n.run(t, "dropped", id, "--as", "stranger"); r.code != exitFailed || !strings.Contains(r.err, "--as") {
		t.Errorf("a stranger's drop report: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := n.run(t, "dropped", "nosuch"); r.code != exitUsage || !strings.Contains(r.err, "open pack nosuch: ") {
		t.Errorf("of no pack: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestChangesNeedTheirRoles records again what another agent, or the same one with other
// labels, has recorded.
func TestChangesNeedTheirRoles(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays", "--label", "level:confidential")
	for _, c := range []struct {
		args []string
		want string // in what is refused; empty: nothing is
	}{
		{[]string{"--agent", "other", "--label", "level:confidential"}, "policy_denied: /event/data/id: this agent may not change this item"},
		{[]string{"--agent", "other", "--label", "level:confidential", "--wait", "accepted"}, ""}, // a dead letter
		{[]string{"--label", "level:public"}, "less protection"},
		{[]string{"--label", "level:restricted"}, ""},
		{[]string{"--agent", "other", "--role", "editor", "--label", "level:restricted"}, ""},
		{[]string{"--agent", "other", "--role", "editor,declassifier", "--label", "level:internal"}, ""},
	} {
		r := n.run(t, append([]string{"emit", "--id", "n1", "--text", "the kiln is fired on Tuesdays"}, c.args...)...)
		if (r.code != 0) != (c.want != "") || !strings.Contains(r.err, c.want) {
			t.Errorf("emit %v: exit code %d, %s", c.args, r.code, r.err)
		}
	}
	contains(t, "the dead letters", n.must(t, "dlq", "ls"), "policy_denied")
	note := filepath.Join(t.TempDir(), "notes.jsonl")
	if err := os.WriteFile(note, []byte(`{"id":"n2","content":"the harbour opens at six"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	n.must(t, "import", note)
	if r := n.run(t, "import", note, "--label", "level:public"); r.code != exitFound || !strings.Contains(r.err+r.out, "less protection") {
		t.Errorf("an import that lowers labels: exit code %d, %s%s", r.code, r.out, r.err)
	}
	n.must(t, "import", note, "--label", "level:public", "--role", "declassifier")
}
