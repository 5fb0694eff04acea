package schemas

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RoleRequest) Validate() []Issue {
	var c checker
	run := RunRequest{From: r.From, RequestID: r.RequestID, Task: r.Task, Session: r.Session, Purpose: r.Purpose,
		TokenBudget: r.TokenBudget, MinPosition: r.MinPosition, TZ: r.TZ}
	c.issues = run.Validate()
	c.shorts("/expose", r.Expose, MaxFilters)
	c.optionalID("/pack_id", r.PackID)
	c.atMost("/withheld", len(r.Withheld), MaxItems, "entries")
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
	c.optionalID("/request_id", r.RequestID)
	c.given("/task", r.Task)
	c.size("/task", r.Task, MaxQuery)
	c.short("/session", r.Session, MaxName)
	c.purpose("/purpose", r.Purpose)
	c.intRange("/token_budget", int64(r.TokenBudget), 0, MaxTokenBudget)
	c.zone("/tz", r.TZ)
	c.notNegative("/min_position", r.MinPosition)
	return c.issues
}

func (c *checker) plan(pointer string, p *RolePlan) {
	if len(p.Steps) == 0 {
		c.add(pointer+"/steps", "must have a step")
	}
	c.atMost(pointer+"/steps", len(p.Steps), MaxFilters, "entries")
	for i := range p.Steps {
		c.id(at(pointer+"/steps", i)+"/id", p.Steps[i].ID)
		c.given(at(pointer+"/steps", i)+"/question", p.Steps[i].Question)
		c.size(at(pointer+"/steps", i)+"/question", p.Steps[i].Question, MaxQuery)
	}
	c.intRange(pointer+"/token_budget", int64(p.TokenBudget), 0, MaxTokenBudget)
}

func (c *checker) answer(pointer string, a *RoleAnswer) {
	c.size(pointer+"/text", a.Text, MaxMessage)
	c.id(pointer+"/pack_id", a.PackID)
	c.atMost(pointer+"/sentences", len(a.Sentences), MaxItems, "entries")
}
