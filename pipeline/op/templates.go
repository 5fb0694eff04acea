package op

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// Templates lists the templates a tenant has, and registers one when asked to.
func (e *Operations) Templates(
	ctx context.Context, s scope.Scope, req schemas.TemplateRequest,
) (schemas.TemplateReply, error) {
	if s.Check() != nil {
		return schemas.TemplateReply{}, pipeline.NoScope()
	}
	if err := schemas.Invalid(req.Validate()); err != nil {
		return schemas.TemplateReply{}, err
	}
	var reply schemas.TemplateReply
	if req.Register != nil {
		warnings, err := e.register(ctx, s, *req.Register)
		if err != nil {
			return schemas.TemplateReply{}, pipeline.Typed(ctx, err)
		}
		reply.Warnings = warnings
	}
	list, err := e.text.Templates.List(s)
	if err != nil {
		return schemas.TemplateReply{}, pipeline.Typed(ctx, templateError("/register", err))
	}
	reply.Templates = e.flagTemplates(s, list)
	return reply, nil
}

// flagTemplates marks the templates of which others are not shown a part.
func (e *Operations) flagTemplates(s scope.Scope, list []schemas.RegisteredTemplate) []schemas.RegisteredTemplate {
	for i := range list {
		t, err := e.text.Templates.Find(s, list[i].Name)
		if err != nil {
			continue // replaced meanwhile
		}
		if _, left := t.Guard(e.looksInjected); len(left) > 0 {
			list[i].Flagged = schemas.FlagInjection
		}
	}
	return list
}

// register keeps a template where policy lets the principal do so. The warnings say what of it
// others are not shown.
func (e *Operations) register(ctx context.Context, s scope.Scope, spec schemas.ContextTemplate) (pipeline.Notes, error) {
	replaces, err := e.mayRegister(ctx, s, spec.Name)
	if err != nil {
		return nil, err
	}
	if err := e.text.Templates.Register(s, spec, replaces); err != nil {
		return nil, templateError("/register", err)
	}
	t, err := e.text.Templates.Find(s, spec.Name)
	if err != nil {
		return nil, templateError("/register", err)
	}
	_, removed := t.Guard(e.looksInjected)
	return removedParts(t, removed), nil
}

// mayRegister asks policy whether the principal may register a template of a name, and
// whether it may change the one that it replaces. It returns the author of that one.
func (e *Operations) mayRegister(ctx context.Context, s scope.Scope, name string) (replaces string, err error) {
	old, err := e.text.Templates.Find(s, name)
	if err != nil && !errors.Is(err, template.ErrNotFound) {
		return "", templateError("/register", err)
	}
	actions := []string{"register"}
	if err == nil && !old.BuiltIn() {
		replaces = old.Author()
		actions = append(actions, "change")
	}
	resource := policies.Resource{ID: name, Facets: schemas.Facets{Kind: "template", Labels: []string{}, Signer: replaces}}
	for _, action := range actions {
		d, err := e.Judge.PDP.Decide(ctx, s, policies.Request{Action: action, Now: e.Admit.Clock(), Resources: []policies.Resource{resource}, Unhashed: true})
		switch {
		case err != nil || len(d.Verdicts) != 1:
			return "", pipeline.PolicyDown(ctx, err)
		case d.Verdicts[0].Allow:
		case action == "change":
			return "", &schemas.Error{Code: schemas.CodePolicyDenied, Field: "/register/name", Message: "policy does not let this principal replace another's template"}
		default:
			return "", &schemas.Error{Code: schemas.CodePolicyDenied, Field: "/register", Message: "policy does not let this principal register templates"}
		}
	}
	return replaces, nil
}

// looksInjected reports whether a text looks like an injected instruction.
func (e *Operations) looksInjected(text string) bool {
	v := candidate.Visible{MemoryItem: schemas.MemoryItem{Content: schemas.TextContent(text)}}
	cs := []candidate.Candidate{candidate.New(&v, schemas.Verdict{})}
	e.Order.Defenses.ApplyKeepingDuplicates(cs, false, e.Admit.Clock())
	return cs[0].Suspect || cs[0].Drop == schemas.DropInjection
}

// removedParts says which parts of a template its author alone sees.
func removedParts(t *template.Template, parts []string) pipeline.Notes {
	if len(parts) == 0 {
		return nil
	}
	return pipeline.Notes{fmt.Sprintf("injection: of the template %s of %s what looks like an injected instruction is left out: %s",
		t.Spec().Name, cmp.Or(t.Author(), "an unknown author"), strings.Join(parts, ", "))}
}

// template returns the template of a build, the client's own or a named one, as the principal
// may see it.
func (e *Operations) template(s scope.Scope, req *schemas.BuildRequest) (*template.Template, pipeline.Notes, error) {
	t, err := e.findTemplate(s, req)
	if err != nil || t.Author() == s.Principal().ID {
		return t, nil, err
	}
	guarded, removed := t.Guard(e.looksInjected)
	return guarded, removedParts(t, removed), nil
}

func (e *Operations) findTemplate(s scope.Scope, req *schemas.BuildRequest) (*template.Template, error) {
	if req.Inline != nil {
		t, err := template.Parse(*req.Inline, s.Principal().ID)
		return t, templateError("/inline", err)
	}
	t, err := e.text.Templates.Find(s, cmp.Or(req.Template, "chat"))
	if !errors.Is(err, template.ErrNotFound) {
		return t, templateError("/template", err)
	}
	there, err := e.text.Templates.List(s)
	if err != nil {
		return nil, templateError("/template", err)
	}
	refused := &schemas.Error{Code: schemas.CodeTemplateNotFound, Field: "/template"}
	for _, spec := range there {
		refused.Available = append(refused.Available, spec.Name)
	}
	refused.Message = "there is no such template; there are " + strings.Join(refused.Available, ", ")
	return nil, refused
}

func templateError(field string, err error) error {
	var wrong *template.FieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return pipeline.Invalid(field+"/"+wrong.Field, wrong.Message)
	case errors.Is(err, template.ErrBuiltIn), errors.Is(err, template.ErrFull), errors.Is(err, template.ErrOwner):
		return pipeline.Invalid(field+"/name", err.Error())
	}
	return pipeline.StorageError("the templates could not be read or written")
}
