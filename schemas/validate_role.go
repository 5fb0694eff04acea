package schemas

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RoleRequest) Validate() []Issue {
	var c checker
	run := RunRequest{From: r.From, RequestID: r.RequestID, Task: r.Task, Session: r.Session, Purpose: r.Purpose,
		TokenBudget: r.TokenBudget, MinPosition: r.MinPosition, TZ: r.TZ}
	c.issues = run.Validate()
	c.checkShorts("/expose", r.Expose, MaxFilters)
	c.checkOptionalID("/pack_id", r.PackID)
	c.checkCount("/withheld", len(r.Withheld), MaxItems, "entries")
	if r.Plan != nil {
		c.checkPlan("/plan", r.Plan)
	}
	if r.Answer != nil {
		c.checkAnswer("/answer", r.Answer)
	}
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RunRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkOptionalID("/request_id", r.RequestID)
	c.checkGiven("/task", r.Task)
	c.checkSize("/task", r.Task, MaxQuery)
	c.checkShort("/session", r.Session, MaxName)
	c.checkPurpose("/purpose", r.Purpose)
	c.checkRange("/token_budget", int64(r.TokenBudget), 0, MaxTokenBudget)
	c.checkZone("/tz", r.TZ)
	c.checkNotNegative("/min_position", r.MinPosition)
	return c.issues
}

func (c *checker) checkPlan(pointer string, p *RolePlan) {
	if len(p.Steps) == 0 {
		c.addIssue(pointer+"/steps", "must have a step")
	}
	c.checkCount(pointer+"/steps", len(p.Steps), MaxFilters, "entries")
	for i := range p.Steps {
		c.checkID(pointerAt(pointer+"/steps", i)+"/id", p.Steps[i].ID)
		c.checkGiven(pointerAt(pointer+"/steps", i)+"/question", p.Steps[i].Question)
		c.checkSize(pointerAt(pointer+"/steps", i)+"/question", p.Steps[i].Question, MaxQuery)
	}
	c.checkRange(pointer+"/token_budget", int64(p.TokenBudget), 0, MaxTokenBudget)
}

func (c *checker) checkAnswer(pointer string, a *RoleAnswer) {
	c.checkSize(pointer+"/text", a.Text, MaxMessage)
	c.checkID(pointer+"/pack_id", a.PackID)
	c.checkCount(pointer+"/sentences", len(a.Sentences), MaxItems, "entries")
}
