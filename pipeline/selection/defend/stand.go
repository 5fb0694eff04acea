package defend

import (
	"satchel/pipeline/candidate"
)

// MayStandFor reports whether an item is newer than another and is likely to stand for it, as Apply would have it. Of what
// was found, more may say the same than there are candidates: the newest of it is to be one.
func (d *Defenses) MayStandFor(v, older *candidate.Visible) bool {
	if v.Kind != older.Kind || v.Speaker != older.Speaker || v.Writer != older.Writer || compareAge(v, older) > 0 {
		return false
	}
	text := v.Content.Text()
	old := older.Content.Text()
	if text == old {
		return true
	}
	if v.SessionID() == "" || v.SessionID() != older.SessionID() {
		return false
	}
	a := d.looks.findFeatures(text, d.readFeatures)
	b := d.looks.findFeatures(old, d.readFeatures)
	return canCompare(v, &a.wording) && canCompare(older, &b.wording) && a.wording.mayAlign(&b.wording) &&
		statementOf(v, sayingOf(v, &a, false)) == statementOf(older, sayingOf(older, &b, false))
}
