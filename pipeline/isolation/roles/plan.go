package roles

import (
	"context"
	"strconv"
	"strings"

	"satchel/pipeline/language"
	"satchel/schemas"
)

const maxSteps = 8

// planTask takes the task apart into questions.
func (st *step) planTask(_ context.Context, reply *schemas.RoleReply) error {
	reply.Plan = Plan(st.req.Task, st.req.TokenBudget)
	return nil
}

// Plan takes a task apart: sentence by sentence, and at every comma or "and" behind which
// a new question begins. It has at most eight steps; the last one holds the rest.
func Plan(task string, budget int) *schemas.RolePlan {
	questions := language.Questions(task)
	if whole := strings.TrimSpace(task); len(questions) == 0 && whole != "" {
		questions = []string{whole}
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
