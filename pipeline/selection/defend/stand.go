package defend

import (
	"satchel/pipeline/candidate"
)

// MayStandFor reports whether an item is newer than another and is likely to stand for it, as Apply would have it. Of what
// was found, more may say the same than there are candidates: the newest of it is to be one.
func (d *Defenses) MayStandFor(v, older *candidate.Visible) bool {
	if v.Kind != older.Kind || v.Speaker != older.Speaker || v.Writer != older.Writer || newer(v, older) > 0 {
		return false
	}
	text, old := v.Content.Text(), older.Content.Text()
	if text == old {
		return true
	}
	if v.SessionID() == "" || v.SessionID() != older.SessionID() {
		return false
	}
	a, b := d.looks.of(text, d.read), d.looks.of(old, d.read)
	return comparable(v, &a.wording) && comparable(older, &b.wording) && a.wording.mayAlign(&b.wording) &&
		statementOf(v, sayingOf(v, &a, false)) == statementOf(older, sayingOf(older, &b, false))
}
