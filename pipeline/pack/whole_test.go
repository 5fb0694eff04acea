package pack_test

import "satchel/pipeline/candidate"

// whole returns the candidate with all of its item as its content.
func whole(c candidate.Candidate) candidate.Candidate {
	c.Content, c.ContentTokens = c.Visible.Content, c.Counted
	return c
}
