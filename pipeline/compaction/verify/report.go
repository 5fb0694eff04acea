package verify

import (
	"slices"

	"satchel/schemas"
)

// checkReport holds the drop report against sources and shown.
func (v *verifier) checkReport() error {
	r := v.in.Report
	if r == nil {
		return makeMismatch(CheckCoverage, "", "there is no drop report")
	}
	ids := make([]string, 0, len(r.Drops))
	saved := 0
	for i := range r.Drops {
		d := &r.Drops[i]
		saved += d.Tokens
		src, ok := v.sources[d.ItemID]
		switch {
		case !ok:
			return makeMismatch(CheckCoverage, d.ItemID, "is dropped and was no input")
		case src.Drop == schemas.DropPolicy || d.Reason == schemas.DropPolicy:
			return makeMismatch(CheckDenied, d.ItemID, "policy denied it and it is named")
		case d.Span != nil:
			src.parts = append(src.parts, d)
			continue
		case src.gone != nil:
			return makeMismatch(CheckCoverage, d.ItemID, "is dropped twice")
		case d.Reason != src.Drop || d.Reason == "":
			return makeMismatch(CheckReason, d.ItemID, "was dropped for another reason than is named")
		case d.Tokens != src.Tokens:
			return makeMismatch(CheckSavings, d.ItemID, "saves %d tokens and takes %d", d.Tokens, src.Tokens)
		}
		src.gone = d
		ids = append(ids, d.ItemID)
	}
	if !slices.Equal(ids, r.DroppedItemIDs) && len(ids)+len(r.DroppedItemIDs) > 0 {
		return makeMismatch(CheckCoverage, "", "the ids that are dropped are not those of the drops")
	}
	if saved != r.TokenSavings {
		return makeMismatch(CheckSavings, "", "%d tokens are saved in all, the drops save %d", r.TokenSavings, saved)
	}
	return v.checkCoverage()
}

// checkCoverage holds that every source is dropped, shown or denied, byte for byte.
func (v *verifier) checkCoverage() error {
	denied := 0
	for i := range v.list {
		s := &v.list[i]
		switch {
		case s.Drop == schemas.DropPolicy:
			denied++
			continue
		case s.Drop != "" && s.gone == nil:
			return makeMismatch(CheckCoverage, s.ID, "is dropped and not named")
		case len(s.parts) > 0 && (s.shown == nil || !s.shown.Part):
			return makeMismatch(CheckCoverage, s.ID, "has spans that are dropped and is not shown in part")
		case s.shown != nil && s.shown.Part:
			if err := v.checkTiles(s.Source, s.shown, s.parts); err != nil {
				return err
			}
		}
	}
	counted := 0
	for _, n := range v.in.Report.Denied {
		counted += n
	}
	if counted != denied {
		return makeMismatch(CheckDenied, "", "%d are counted as denied, %d were", counted, denied)
	}
	return nil
}

// checkTiles holds that the lines that are shown and the spans that are dropped make up
// the text, in order and without overlap, and that the spans save what the part saves.
func (v *verifier) checkTiles(src *Source, shown *Shown, drops []*schemas.Drop) error {
	var at, line, saved int
	next := func() int {
		if line < len(shown.Lines) {
			return shown.Lines[line].Span.Start
		}
		return len(src.Text)
	}
	passShown := func() {
		for line < len(shown.Lines) && at == next() {
			at = shown.Lines[line].Span.End
			line++
		}
	}
	for _, d := range drops {
		passShown()
		switch {
		case d.Reason != schemas.DropSummarised:
			return makeMismatch(CheckReason, src.ID, "a span of what is shown was dropped for %q", d.Reason)
		case d.Span.Start != at || d.Span.End <= at || d.Span.End != next():
			return makeMismatch(CheckCoverage, src.ID, "bytes from %d on are neither shown nor dropped once", at)
		case d.Tokens < 0:
			return makeMismatch(CheckSavings, src.ID, "a span saves %d tokens", d.Tokens)
		}
		at = d.Span.End
		saved += d.Tokens
	}
	passShown()
	switch {
	case at != len(src.Text) || line != len(shown.Lines):
		return makeMismatch(CheckCoverage, src.ID, "bytes from %d on are neither shown nor dropped once", at)
	case saved != shown.Before-shown.After:
		return makeMismatch(CheckSavings, src.ID, "spans save %d tokens, the counts differ by %d", saved, shown.Before-shown.After)
	case v.in.Count != nil && shown.After != v.in.Count(addSpeaker(src.Speaker, shown.Text)):
		return makeMismatch(CheckSavings, src.ID, "%d tokens after is not what they count", shown.After)
	}
	return nil
}

// addSpeaker is what a record's count is of.
func addSpeaker(speaker, text string) string {
	if speaker != "" {
		return speaker + ": " + text + "\n"
	}
	return text + "\n"
}
