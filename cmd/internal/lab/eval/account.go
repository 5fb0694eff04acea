package eval

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// shares returns, by the set's ids, which part of each shown item's text is shown.
func (s *system) shares(p *schemas.ResultPayload, texts map[string]string) map[string]float64 {
	out := map[string]float64{}
	for _, section := range p.Pack.Sections {
		for _, item := range section.Items {
			share := 1.0
			if len(item.Spans) > 0 {
				share = float64(length(item.Spans)) / float64(max(1, len(texts[item.ID])))
			}
			out[s.ids[item.ID]] = share
		}
	}
	return out
}

func length(spans []schemas.Span) int {
	n := 0
	for _, sp := range spans {
		n += sp.End - sp.Start
	}
	return n
}

// seen are the set's texts as policy lets the requester see them: citations and spans of
// an item in which personal data is hidden are of that text. It is what is shown whole, or
// what the recovery of the pack brings back, and counts only if it is the set's own text
// with marks in it.
func (s *system) seen(ctx context.Context, sc scope.Scope, res *schemas.ContextResult) (map[string]string, error) {
	var parts []string
	hidden := map[string]bool{}
	for _, section := range res.Payload.Pack.Sections {
		for _, item := range section.Items {
			if item.Obligations == nil || item.Obligations.PII != schemas.PIIRedact {
				continue
			}
			hidden[item.ID] = true
			if len(item.Spans) > 0 {
				parts = append(parts, item.ID)
			}
		}
	}
	if len(hidden) == 0 {
		return s.texts, nil
	}
	wholes := slices.Clone(res.Payload.Results)
	if len(parts) > 0 {
		got, err := s.engine.Recover(ctx, sc, schemas.RecoverRequest{PackID: res.Payload.PackID, ItemIDs: parts}, res)
		if err != nil {
			return nil, fmt.Errorf("recover %d items: %w", len(parts), err)
		}
		wholes = append(wholes, got.Results...)
	}
	texts := maps.Clone(s.texts)
	for _, item := range wholes {
		if text := item.Content.Text(); hidden[item.ID] && marked(s.texts[item.ID], text) {
			texts[item.ID] = text
		}
	}
	return texts, nil
}

// mark is what stands in the place of personal data that is redacted.
var mark = regexp.MustCompile(`\[[a-z]+\]`)

// marked reports whether text is the whole with marks in the place of parts of it, each
// of at least one character.
func marked(whole, text string) bool {
	pieces := mark.Split(text, -1)
	for i, piece := range pieces {
		pieces[i] = regexp.QuoteMeta(piece)
	}
	is, err := regexp.MatchString(`(?s)\A`+strings.Join(pieces, `.+?`)+`\z`, whole)
	return err == nil && is
}

// account holds a reply against the texts: which characters of what it named are neither
// shown nor dropped, and which of its citations do not resolve.
func account(p *schemas.ResultPayload, texts map[string]string) measure.Account {
	var a measure.Account
	dropped := map[string][]schemas.Span{}
	for _, d := range p.Drop.Drops {
		if d.Span != nil {
			dropped[d.ItemID] = append(dropped[d.ItemID], *d.Span)
			continue
		}
		a.Removed += len(texts[d.ItemID])
		if _, known := texts[d.ItemID]; known {
			a.Named += len(texts[d.ItemID])
		}
	}
	shown := map[string]bool{}
	number := 0
	for _, section := range p.Pack.Sections {
		for _, item := range section.Items {
			shown[item.ID] = true
			number++
			text := texts[item.ID]
			a.Add(accountOf(len(text), item.Spans, dropped[item.ID]))
			a.Cited += 1 + len(item.Spans)
			a.Parts += min(1, len(item.Spans))
			if strings.Contains(p.Text, fmt.Sprintf("[%d] ", number)) && number <= len(p.Results) && p.Results[number-1].ID == item.ID {
				a.Resolved++
			}
			for _, sp := range item.Spans {
				if sp.Start >= 0 && sp.End <= len(text) && sp.Start < sp.End && strings.Contains(p.Results[number-1].Content.Text(), text[sp.Start:sp.End]) {
					a.Resolved++
				}
			}
		}
	}
	for _, sentence := range p.Explainability.TLDR.Sentences {
		for _, id := range sentence.Citations {
			a.Cited++
			if shown[id] && (p.Explainability.TLDR.Method != "" || strings.Contains(bare(texts[id]), bare(sentence.Text))) {
				a.Resolved++
			}
		}
	}
	return a
}

// bare is a text without what a pack leaves out of a line or puts before it: white
// space, characters that are not printed or stand for broken bytes, and backslashes.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\\' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, text)
}

// accountOf counts the bytes of a text that are not shown, and those of them that exactly
// one dropped span holds.
func accountOf(size int, shown, dropped []schemas.Span) measure.Account {
	if len(shown) == 0 {
		shown = []schemas.Span{{Start: 0, End: size}}
	}
	var a measure.Account
	marks := make([]int8, size)
	for _, sp := range shown {
		for i := max(0, sp.Start); i < min(sp.End, size); i++ {
			marks[i] = math.MinInt8 / 2
		}
	}
	for _, sp := range dropped {
		for i := max(0, sp.Start); i < min(sp.End, size); i++ {
			marks[i]++
		}
	}
	for _, m := range marks {
		if m >= 0 || m > math.MinInt8/2 { // not shown, or shown and dropped
			a.Removed++
			if m == 1 {
				a.Named++
			}
		}
	}
	return a
}

// percent writes a share so that only a whole one reads as 100 %.
func percent(share float64) string {
	if share < 1 {
		return fmt.Sprintf("%.2f%%", math.Floor(share*1e4)/100)
	}
	return "100%"
}
