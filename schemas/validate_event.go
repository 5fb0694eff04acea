package schemas

// Validate returns what is wrong with the event data, nil when it may be written.
func (v *MemoryLinked) Validate() []Issue {
	var c checker
	c.scope("/scope", &v.Scope)
	c.id("/from", v.From)
	if len(v.Links) == 0 {
		c.add("/links", required)
	}
	c.links("/links", v.From, v.Links)
	return c.issues
}

// Validate returns what is wrong with the event data, nil when it may be written.
func (v *MemorySuperseded) Validate() []Issue {
	var c checker
	c.scope("/scope", &v.Scope)
	c.id("/item", v.Item)
	c.id("/by", v.By)
	if v.Item != "" && v.Item == v.By {
		c.add("/by", "must not be the item itself")
	}
	c.short("/reason", v.Reason, MaxReason)
	return c.issues
}

// Validate returns what is wrong with the event data, nil when it may be written.
func (v *MemoryAccessed) Validate() []Issue {
	var c checker
	c.scope("/scope", &v.Scope)
	c.ids("/items", v.Items)
	return c.issues
}

// Validate returns what is wrong with the event data, nil when it may be written.
// Who may carry a receipt is not its business: see pipeline/write.
func (v *MemoryErased) Validate() []Issue {
	var c checker
	c.scope("/scope", &v.Scope)
	c.ids("/items", v.Items)
	c.short("/reason", v.Reason, MaxReason)
	return c.issues
}

// ids checks a list of 1 to MaxItems ids.
func (c *checker) ids(pointer string, ids []string) {
	if len(ids) == 0 {
		c.add(pointer, required)
	}
	c.atMost(pointer, len(ids), MaxItems, "items")
	c.eachID(pointer, ids)
}
