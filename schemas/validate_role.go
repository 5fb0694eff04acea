package schemas

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RoleRequest) Validate() []Issue {
	var c checker
	run := RunRequest{From: r.From, RequestID: r.RequestID, Task: r.Task, Session: r.Session, Purpose: r.Purpose,
		TokenBudget: r.TokenBudget, MinPosition: r.MinPosition, TZ: r.TZ}
	c.issues = run.Validate()
	c.shorts("/expose", r.Expose, MaxFilters)
	if r.PackID != "" {
		c.id("/pack_id", r.PackID)
	}
	if len(r.Withheld) > MaxItems {
		c.add("/withheld", "must have at most 1000 entries")
	}
	if r.Plan != nil {
		c.plan("/plan", r.Plan)
	}
	if r.Answer != nil {
		c.answer("/answer", r.Answer)
	}
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RunRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	if r.RequestID != "" {
		c.id("/request_id", r.RequestID)
	}
	if isBlank(r.Task) {
		c.add("/task", required)
	}
	c.size("/task", r.Task, MaxQuery)
	c.short("/session", r.Session, MaxName)
	c.purpose("/purpose", r.Purpose)
	c.intRange("/token_budget", int64(r.TokenBudget), 0, MaxTokenBudget)
	c.zone("/tz", r.TZ)
	if r.MinPosition < 0 {
		c.add("/min_position", "must not be negative")
	}
	return c.issues
}

func (c *checker) plan(pointer string, p *RolePlan) {
	if len(p.Steps) == 0 {
		c.add(pointer+"/steps", "must have a step")
	}
	if len(p.Steps) > MaxFilters {
		c.add(pointer+"/steps", "must have at most 64 entries")
	}
	for i := range p.Steps {
		c.id(at(pointer+"/steps", i)+"/id", p.Steps[i].ID)
		if isBlank(p.Steps[i].Question) {
			c.add(at(pointer+"/steps", i)+"/question", required)
		}
		c.size(at(pointer+"/steps", i)+"/question", p.Steps[i].Question, MaxQuery)
	}
	c.intRange(pointer+"/token_budget", int64(p.TokenBudget), 0, MaxTokenBudget)
}

func (c *checker) answer(pointer string, a *RoleAnswer) {
	c.size(pointer+"/text", a.Text, MaxMessage)
	c.id(pointer+"/pack_id", a.PackID)
	if len(a.Sentences) > MaxItems {
		c.add(pointer+"/sentences", "must have at most 1000 entries")
	}
}
