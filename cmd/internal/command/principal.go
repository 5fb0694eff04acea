package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nkeys"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/pipeline/infra/files"
	"satchel/policies"
	"satchel/schemas"
)

// Principal is satchel principal.
type Principal struct {
	Add principalAddCmd `cmd:"" help:"Register a principal and make its key."`
	Ls  principalLsCmd  `cmd:"" help:"List the registered principals."`
	Key principalKeyCmd `cmd:"" help:"Give a registered principal a new key."`
}

type principalAddCmd struct {
	Name  string   `arg:"" help:"Id of the principal, and its agent name."`
	Level string   `help:"Highest clearance: public, internal, confidential, restricted." default:"internal" enum:"public,internal,confidential,restricted"`
	Group []string `help:"Groups it is in."`
	Role  []string `help:"Roles it holds."`
	Trust float64  `help:"Most trust that its items may claim, from .5 to 1. Default: .7." placeholder:"N"`
	NKey  string   `name:"nkey" help:"Public nkey of a user, when the principal keeps its seed itself. Without: a key pair is made." placeholder:"U…"`
}

// Run registers the principal.
func (c *principalAddCmd) Run(a *app.App) error {
	level, _ := schemas.ParseLevel(c.Level)
	m := policies.Member{Tenant: a.Tenant, ID: c.Name, Level: int(level), Groups: c.Group, Roles: c.Role, Trust: c.Trust}
	return enrol(a, &m, c.NKey, policies.AddMember)
}

type principalKeyCmd struct {
	Name string `arg:"" help:"Id of the principal."`
	NKey string `name:"nkey" help:"Public nkey of a user, when the principal keeps its seed itself. Without: a key pair is made." placeholder:"U…"`
}

// Run gives the principal a key.
func (c *principalKeyCmd) Run(a *app.App) error {
	m := policies.Member{Tenant: a.Tenant, ID: c.Name}
	return enrol(a, &m, c.NKey, func(raw []byte, m policies.Member) ([]byte, error) {
		return policies.SetKey(raw, m.Tenant, m.ID, m.Key)
	})
}

// errNoRegistry says how to name a registry.
var errNoRegistry = errors.New("name the registry file with --principals or SATCHEL_PRINCIPALS")

// enrol has change put m into the registry, with the public key or one that is made.
func enrol(a *app.App, m *policies.Member, public string, change func([]byte, policies.Member) ([]byte, error)) error {
	if a.Principals == "" {
		return &config.UsageError{Err: errNoRegistry}
	}
	if !schemas.ValidToken(m.ID) {
		return config.Usagef("principal %q: the name must be 1 to 64 of the characters A-Z a-z 0-9 _ -", m.ID)
	}
	raw, err := os.ReadFile(a.Principals)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return config.Usagef("read the registry: %v", err)
	}
	var seed []byte
	m.Key = public
	if public == "" {
		if seed, m.Key, err = newUser(); err != nil {
			return err
		}
	}
	changed, err := change(raw, *m)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	path := ""
	if seed != nil {
		path = a.Path("keys", "principals", m.Tenant, m.ID+".nk")
		if err := writeWhole(path, seed, 0o600); err != nil {
			return fmt.Errorf("write the principal's key: %w", err)
		}
	}
	if err := writeWhole(a.Principals, changed, 0o644); err != nil {
		return fmt.Errorf("write the registry: %w", err)
	}
	return printEnrolled(a, m, path)
}

func printEnrolled(a *app.App, m *policies.Member, seed string) error {
	return PrintReply(a, map[string]string{"tenant": m.Tenant, "id": m.ID, "nkey": m.Key, "seed_file": seed}, func(w io.Writer) {
		fmt.Fprintf(w, "registered  %s of tenant %s in %s, nkey %s\n", m.ID, m.Tenant, a.Principals, m.Key)
		if seed == "" {
			seed = "SEED_FILE"
		} else {
			fmt.Fprintf(w, "key         %s: give it to %s alone\n", seed, m.ID)
		}
		fmt.Fprintf(w, "next        restart satchel up with SATCHEL_PRINCIPALS=%s; then, as %s:\n", a.Principals, m.ID)
		fmt.Fprintf(w, "            NATS_NKEY=%s SATCHEL_AS=%s satchel ask --tenant %s \"…\"\n", seed, m.ID, m.Tenant)
	})
}

// newUser makes a key pair.
func newUser() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", fmt.Errorf("make a key: %w", err)
	}
	if seed, err = pair.Seed(); err != nil {
		return nil, "", fmt.Errorf("make a key: %w", err)
	}
	if public, err = pair.PublicKey(); err != nil {
		return nil, "", fmt.Errorf("make a key: %w", err)
	}
	return seed, public, nil
}

// writeWhole writes a file so that it is there whole or as it was. A file that is there keeps
// its mode.
func writeWhole(path string, data []byte, mode os.FileMode) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := files.Write(path, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

type principalLsCmd struct{}

// listed is a line of the list.
type listed struct {
	Tenant string   `json:"tenant"`
	ID     string   `json:"id"`
	Level  string   `json:"level"`
	Groups []string `json:"groups"`
	Roles  []string `json:"roles"`
	Trust  float64  `json:"trust"`
	NKey   string   `json:"nkey,omitempty"`
}

// Run lists the principals, those of one tenant when that is named.
func (c *principalLsCmd) Run(a *app.App) error {
	registry, err := a.OpenRegistry()
	if err != nil {
		return err
	}
	if registry == nil {
		return &config.UsageError{Err: errNoRegistry}
	}
	list := []listed{}
	for _, m := range registry.Members() {
		if !a.TenantGiven || m.Tenant == a.Tenant {
			list = append(list, listed{m.Tenant, m.ID, schemas.Level(m.Level).String(), m.Groups, m.Roles, m.Trust, m.Key})
		}
	}
	return PrintTable(a, list, func(w io.Writer) {
		for _, l := range list {
			key := l.NKey
			if key == "" {
				key = "no key"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\tgroups: %s\troles: %s\ttrust: %g\t%s\n", l.Tenant, l.ID, l.Level, strings.Join(l.Groups, ","), strings.Join(l.Roles, ","), l.Trust, key)
		}
	})
}
