package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"satchel/cmd/internal/config"
	"satchel/jetstream"
	"satchel/pipeline/isolation"
	"satchel/pipeline/isolation/roles"
	"satchel/pipeline/model"
	"satchel/pipeline/model/remote"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/service"
)

// openRoles wires the roles: those this worker plays, those that others play, and the
// synthesizer's model.
func (a *App) openRoles(n *Node, o NodeOptions, logger *slog.Logger) (*roles.Runner, []string, error) {
	played, err := a.rolesPlayed()
	if err != nil {
		return nil, nil, err
	}
	zone, err := a.Zone()
	if err != nil {
		return nil, nil, err
	}
	cfg := roles.Config{Zone: zone, Assembler: n.Engine, Packs: n.Worker.Service, Log: countedLog{n.Log, eventlog.Answers{Log: n.Log}, n.meters}, Items: n.Items, PDP: n.PDP, Embedder: n.Embedder.words,
		Tokens: n.Counter("").Count, Remote: map[string]roles.RemoteRole{}, Clock: o.Clock, IDs: o.NewID, Logger: logger}
	for _, role := range roles.Names() {
		if !slices.Contains(played, role) {
			cfg.Remote[role] = &natsRole{n.NC}
		}
	}
	if a.LLMURL != "" {
		cfg.Deadline = time.Duration(a.LLMTimeout) * time.Millisecond
		model, err := remote.NewChat(remote.ChatConfig{URL: a.LLMURL, Model: a.LLMModel, Key: a.LLMKey, Timeout: cfg.Deadline})
		if err != nil {
			return nil, nil, &config.UsageError{Err: fmt.Errorf("open LLM_URL: %w", err)}
		}
		cfg.Model = model
	}
	if cfg.Prices, err = a.prices(); err != nil {
		return nil, nil, err
	}
	runner, err := roles.New(cfg)
	return runner, played, err
}

// rolesPlayed reads the list of roles this worker plays.
func (a *App) rolesPlayed() ([]string, error) {
	var played []string
	for _, role := range strings.Split(a.Roles, ",") {
		role = strings.TrimSpace(role)
		if role == "" {
			continue
		}
		if !slices.Contains(roles.Names(), role) {
			return nil, config.Usagef("--roles %q: the roles are %s", role, strings.Join(roles.Names(), ", "))
		}
		played = append(played, role)
	}
	return played, nil
}

// roleEndpoints are the subjects of the roles this worker plays, and of whole runs.
func roleEndpoints(v *service.Service, runner *roles.Runner, played []string, cost func(tenant string) prometheus.Counter) []jetstream.Endpoint {
	serve := func(name, subject string, handle func(ctx context.Context, c jetstream.Call) (any, error)) jetstream.Endpoint {
		return jetstream.Endpoint{Name: name, Subject: subject, Handler: func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
			out, err := handle(ctx, c)
			if err != nil {
				return jetstream.Reply{}, err
			}
			body, err := json.Marshal(out)
			return jetstream.Reply{Data: body}, err
		}}
	}
	list := []jetstream.Endpoint{serve("run", "ctx.v1.*.run", func(ctx context.Context, c jetstream.Call) (any, error) {
		req, issues := schemas.Decode[schemas.RunRequest](c.Data)
		if err := schemas.Invalid(issues); err != nil {
			return nil, err
		}
		return v.Serve(ctx, c.Tenant, req.From, req.Purpose, func(s scope.Scope) (any, error) {
			reply, err := runner.Run(ctx, s, req)
			cost(s.Tenant()).Add(max(0, reply.Metrics.Cost))
			return reply, err
		})
	})}
	list[0].Workers = 32 // a run waits for other roles: it must not take their places
	for _, role := range played {
		e := serve("role_"+role, "ctx.v1.*.role."+role, func(ctx context.Context, c jetstream.Call) (any, error) {
			req, issues := schemas.Decode[schemas.RoleRequest](c.Data)
			if err := schemas.Invalid(issues); err != nil {
				return nil, err
			}
			return v.Serve(ctx, c.Tenant, req.From, req.Purpose, func(s scope.Scope) (any, error) { return runner.Execute(ctx, s, role, req) })
		})
		e.Metadata = map[string]string{"whitelist": strings.Join(roles.Whitelist(role), ",")}
		list = append(list, e)
	}
	return list
}

// natsRole asks the process that has subscribed to a role's subject.
type natsRole struct{ nc *nats.Conn }

// Execute sends the request in the name of the run's principal.
func (p *natsRole) Execute(ctx context.Context, s scope.Scope, role string, req schemas.RoleRequest) (schemas.RoleReply, error) {
	var reply schemas.RoleReply
	who := s.Principal()
	req.From = &schemas.Agent{Type: who.Kind, ID: who.ID, SecurityLevel: schemas.Level(who.Level).String(), Groups: who.Groups, Roles: who.Roles}
	body, err := json.Marshal(&req)
	if err != nil {
		return reply, fmt.Errorf("encode role request: %w", err)
	}
	subject, err := jetstream.RoleSubject(s.Tenant(), role)
	if err != nil {
		return reply, err
	}
	raw, err := jetstream.Request(ctx, p.nc, subject, body)
	if err != nil {
		return reply, &schemas.Error{Code: schemas.CodeOverloaded, Message: "the role " + role + " is played elsewhere, and nobody answered as it should"}
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return reply, &schemas.Error{Code: schemas.CodeValidation, Message: "the role " + role + " is played elsewhere; its reply cannot be read"}
	}
	return reply, nil
}

// prices reads the price table of models.
func (a *App) prices() (isolation.Prices, error) {
	if a.Prices == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(a.Prices)
	if err != nil {
		return nil, config.Usagef("read prices: %v", err)
	}
	var p isolation.Prices
	if err := yaml.UnmarshalWithOptions(raw, &p, yaml.Strict()); err != nil {
		return nil, config.Usagef("read prices %s: %v", a.Prices, err)
	}
	if err := p.Validate(); err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return p, nil
}

// roleSubjects are those of the roles that this worker plays, and of those that others may.
func (a *App) roleSubjects() (own, others []string) {
	played := strings.Split(strings.ReplaceAll(a.Roles, " ", ""), ",")
	for _, role := range roles.Names() {
		if subject := "ctx.v1.*.role." + role; slices.Contains(played, role) {
			own = append(own, subject)
		} else {
			others = append(others, subject)
		}
	}
	return own, others
}

// ChatModel returns a model behind an endpoint, which is given the key and the time limit of the synthesizer's. It does not
// reach for the endpoint.
func (a *App) ChatModel(url, model string) (model.Chat, error) {
	return remote.NewChat(remote.ChatConfig{URL: url, Model: model, Key: a.LLMKey, Timeout: time.Duration(a.LLMTimeout) * time.Millisecond})
}
