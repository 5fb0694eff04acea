package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/emitters/gateway/mcp"
	"satchel/schemas"
)

// MCP is satchel mcp.
type MCP struct {
	As    string   `help:"Principal that remembers and asks." default:"mcp" env:"SATCHEL_AS"`
	Level string   `help:"Clearance claimed: public, internal, confidential, restricted." default:"internal" enum:"public,internal,confidential,restricted"`
	Group []string `help:"Groups claimed."`
	Role  []string `help:"Roles claimed; eraser lets forget work without a principal registry." default:"eraser"`
	Label []string `help:"Labels (name:value) of items that are stored without labels." default:"level:internal"`
}

// Run serves until the client closes standard input.
func (c *MCP) Run(ctx context.Context, a *app.App) error {
	if !schemas.ValidToken(c.As) {
		return config.Usagef("--as %q: a principal has 1 to 64 of the characters A-Z a-z 0-9 _ -", c.As)
	}
	key := []byte(rand.Text() + rand.Text())
	var mu sync.Mutex
	var conn *Client
	var agent *emitters.Emitter
	connected := func(ctx context.Context) (*emitters.Emitter, error) {
		mu.Lock()
		defer mu.Unlock()
		if agent != nil {
			return agent, nil
		}
		var err error
		if conn, err = Dial(ctx, a); err != nil {
			return nil, fmt.Errorf("%w: %w", emitters.ErrNotConnected, err)
		}
		agent, err = emitters.New(conn.NC, emitters.Config{Tenant: a.Tenant, Agent: c.As, Labels: c.Label,
			Clearance: c.Level, Groups: c.Group, Roles: c.Role, Sandbox: true})
		return agent, err
	}
	server, err := mcp.New(mcp.Config{Client: connected, Tenant: a.Tenant, Principal: c.As, Version: app.Version(), Key: key})
	if err != nil {
		return &config.UsageError{Err: err}
	}
	err = server.Run(ctx, answering(os.Stdin, os.Stdout))
	mu.Lock()
	defer mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
