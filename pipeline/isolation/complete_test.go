package isolation_test

import "satchel/pipeline/candidate"

// complete returns the candidate with all of its item as its content.
func complete(c candidate.Candidate) candidate.Candidate {
	c.Content, c.ContentTokens = c.Visible.Content, c.Counted
	return c
}
