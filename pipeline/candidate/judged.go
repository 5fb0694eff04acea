package candidate

// SetJudged puts what the defenses leave of an item in the place of what policy lets be seen of it, with the names
// of the fields that they withhold. Package defend alone calls it. Nothing may leave of a candidate that is not
// judged: isolation refuses it, as it refuses one without a verdict.
func (c *Candidate) SetJudged(left *Visible, withheld []string) {
	c.Visible = left
	c.Withheld = withheld
	c.judged = true
	if len(withheld) > 0 {
		c.ContentTokens = 0 // they counted the speaker
	}
}

// Judged reports whether the defenses have read every string of the item.
func (c *Candidate) Judged() bool { return c.judged }
