package roles

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"satchel/pipeline/infra/sentences"
	"satchel/schemas"
)

const maxSteps = 8

// joint is where one question ends and the next begins inside a sentence.
var joint = regexp.MustCompile(`(?i)(?:\s*[,;]\s*(?:and\s+|then\s+)?|\s+and\s+(?:then\s+)?)\b(who|whom|whose|what|when|where|which|why|how|did|does|do|is|are|was|were|can|should|has|have)\b`)

// plan takes the task apart into questions.
func (st *step) plan(_ context.Context, reply *schemas.RoleReply) error {
	reply.Plan = Plan(st.req.Task, st.req.TokenBudget)
	return nil
}

// Plan takes a task apart: sentence by sentence, and at every comma or "and" behind which
// a new question begins. It has at most eight steps; the last one holds the rest.
func Plan(task string, budget int) *schemas.RolePlan {
	var questions []string
	add := func(question string) {
		if question = strings.Trim(question, " \t\r\n,;"); question != "" {
			questions = append(questions, question)
		}
	}
	for _, s := range sentences.Split(task) {
		text, start := task[s.Start:s.End], 0
		for _, m := range joint.FindAllStringSubmatchIndex(text, -1) {
			if len(strings.Fields(text[start:m[0]])) < 2 {
				continue
			}
			add(text[start:m[0]])
			start = m[2]
		}
		add(text[start:])
	}
	if len(questions) == 0 {
		add(strings.TrimSpace(task))
	}
	if len(questions) > maxSteps {
		questions = append(questions[:maxSteps-1], strings.Join(questions[maxSteps-1:], " "))
	}
	plan := &schemas.RolePlan{TokenBudget: budget}
	for i, question := range questions {
		plan.Steps = append(plan.Steps, schemas.PlanStep{ID: strconv.Itoa(i + 1), Question: question})
	}
	return plan
}
