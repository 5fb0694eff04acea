package schemas

// Validate returns what is wrong with the event data, nil when it may be written.
func (v *MemoryLinked) Validate() []Issue {
	var c checker
	c.checkScope("/scope", &v.Scope)
	c.checkID("/from", v.From)
	c.checkPresent("/links", len(v.Links))
	c.checkLinks("/links", v.From, v.Links)
	return c.issues
}

// Validate returns what is wrong with the event data, nil when it may be written.
func (v *MemorySuperseded) Validate() []Issue {
	var c checker
	c.checkScope("/scope", &v.Scope)
	c.checkID("/item", v.Item)
	c.checkID("/by", v.By)
	if v.Item != "" && v.Item == v.By {
		c.addIssue("/by", "must not be the item itself")
	}
	c.checkShort("/reason", v.Reason, MaxReason)
	return c.issues
}

// Validate returns what is wrong with the event data, nil when it may be written.
func (v *MemoryAccessed) Validate() []Issue {
	var c checker
	c.checkScope("/scope", &v.Scope)
	c.checkIDs("/items", v.Items)
	return c.issues
}

// Validate returns what is wrong with the event data, nil when it may be written.
// Who may carry a receipt is not its business: see pipeline/write.
func (v *MemoryErased) Validate() []Issue {
	var c checker
	c.checkScope("/scope", &v.Scope)
	c.checkIDs("/items", v.Items)
	c.checkShort("/reason", v.Reason, MaxReason)
	return c.issues
}

// checkIDs checks a list of 1 to MaxItems ids.
func (c *checker) checkIDs(pointer string, ids []string) {
	c.checkPresent(pointer, len(ids))
	c.checkCount(pointer, len(ids), MaxItems, "items")
	c.checkEachID(pointer, ids)
}
