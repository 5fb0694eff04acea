package op_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// TestASpanIsOfTheTextThatWasSeen: a span of a drop report counts characters of the text as
// policy showed it then. Whoever sees more of the item, or less, is not given other
// characters under the same numbers.
func TestASpanIsOfTheTextThatWasSeen(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := minutes()
	for i := range list {
		if i != 5 {
			list[i].Content = schemas.TextContent("Write to ada.lovelace@example.org about it. " + list[i].Content.Text())
			list[i].SecurityLabel = append(list[i].SecurityLabel, "detected:email")
		}
	}
	w.put(t, "acme", list...)
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	p := s.Principal()
	p.Roles = []string{"pii_reader"}
	reader, err := scope.New("acme", p, s.Purpose())
	must(t, err)
	stored, err := w.engine.Context(ctx, s, compactAsk("auto", 1200))
	must(t, err)
	var part, whole *schemas.Drop
	for i := range stored.Payload.Drop.Drops {
		switch d := &stored.Payload.Drop.Drops[i]; {
		case d.ItemID == "m05" || d.ItemID == "m03":
		case d.Span != nil:
			part = d
		default:
			whole = d
		}
	}
	if part == nil || whole == nil {
		t.Fatalf("drops %+v", stored.Payload.Drop.Drops)
	}
	text := func(id string) string {
		return list[slices.IndexFunc(list, func(m schemas.MemoryItem) bool { return m.ID == id })].Content.Text()
	}
	masked := strings.ReplaceAll(text(part.ItemID), "ada.lovelace@example.org", "[email]")
	recover := func(s scope.Scope, sp schemas.SpanRef) (string, []string) {
		t.Helper()
		got, err := w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: "p", Spans: []schemas.SpanRef{sp}}, &stored)
		must(t, err)
		if len(got.Results) == 0 {
			return "", got.Missing
		}
		return strings.Trim(got.Results[0].Content.Text(), "… "), got.Missing
	}
	if got, missing := recover(s, schemas.SpanRef{ItemID: part.ItemID, Span: *part.Span}); got != strings.Trim(masked[part.Span.Start:part.Span.End], " ") {
		t.Errorf("who saw it gets %q, missing %v", got, missing)
	}
	if got, missing := recover(reader, schemas.SpanRef{ItemID: part.ItemID, Span: *part.Span}); got != "" || !slices.Equal(missing, []string{part.ItemID}) {
		t.Errorf("who sees more gets other characters: %q, missing %v", got, missing)
	}
	of := schemas.SpanRef{ItemID: whole.ItemID, Span: schemas.Span{Start: 9, End: 33}}
	if got, missing := recover(reader, of); got != "ada.lovelace@example.org" {
		t.Errorf("of an item that was dropped whole: %q, missing %v", got, missing)
	}
	if got, missing := recover(s, of); got != "" || !slices.Equal(missing, []string{whole.ItemID}) {
		t.Errorf("of an item of which something is hidden: %q, missing %v", got, missing)
	}
	for name, sp := range map[string]schemas.SpanRef{
		"a span of another item":    {ItemID: "m03", Span: *part.Span},
		"beyond the dropped span":   {ItemID: part.ItemID, Span: schemas.Span{Start: part.Span.Start, End: part.Span.End + 1}},
		"an item that is not there": {ItemID: "never", Span: *part.Span},
	} {
		for _, who := range []scope.Scope{s, reader} {
			if got, missing := recover(who, sp); got != "" || !slices.Equal(missing, []string{sp.ItemID}) {
				t.Errorf("%s: %q, missing %v", name, got, missing)
			}
		}
	}
}
