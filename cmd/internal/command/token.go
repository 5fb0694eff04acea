package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters/gateway"
	"satchel/pipeline/infra/files"
)

// Token is satchel token.
type Token struct {
	Add    tokenAddCmd    `cmd:"" help:"Make a token and print it once."`
	Ls     tokenLsCmd     `cmd:"" help:"List tokens: ids, principals, scopes; never the tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"Take a token away."`
}

// tokenFlags say which file.
type tokenFlags struct {
	Tokens string `help:"Token file; default tokens.yaml in the data folder." placeholder:"FILE"`
}

func tokensPath(a *app.App, given string) string {
	if given != "" {
		return given
	}
	return filepath.Join(a.Dir, "tokens.yaml")
}

// changeTokens changes the token file, while no other process does.
func changeTokens(path string, change func([]gateway.Token) ([]gateway.Token, error)) error {
	unlock, err := lockTokens(path)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := gateway.ReadTokens(path)
	if err != nil {
		return err
	}
	if list, err = change(list); err != nil {
		return err
	}
	return gateway.WriteTokens(path, list)
}

// lockTokens makes this process the only one that changes the file, until unlock is called.
func lockTokens(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock tokens: %w", err)
	}
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock tokens: %w", err)
	}
	unlock = func() { _ = file.Close() } // which gives the lock back
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		taken, err := files.TryLock(file)
		if err == nil && !taken {
			return unlock, nil
		}
		if err == nil && time.Now().After(end) {
			err = errors.New("another process changes them")
		}
		if err != nil {
			unlock()
			return nil, fmt.Errorf("lock tokens: %w", err)
		}
	}
}

type tokenAddCmd struct {
	tokenFlags
	Principal string        `arg:"" help:"Principal that the token speaks for."`
	ID        string        `name:"id" help:"Name of the token; default that of the principal."`
	Level     string        `help:"Clearance claimed; a principal registry can only narrow it." default:"internal" enum:"public,internal,confidential,restricted"`
	Role      []string      `help:"Roles claimed, such as pii_reader; a token claims none of the principal's by itself."`
	Scope     []string      `help:"What it may do: memory.read, memory.write, memory.erase, memory.audit." default:"memory.read,memory.write"`
	For       time.Duration `help:"How long it holds, such as 720h; 0 for always."`
}

// Run writes the entry and prints the token.
func (c *tokenAddCmd) Run(a *app.App) error {
	if c.For < 0 {
		return config.Usagef("--for %s is over before it begins", c.For)
	}
	entry := gateway.Token{ID: cmp.Or(c.ID, c.Principal), Tenant: a.Tenant, Principal: c.Principal, Clearance: c.Level, Scopes: c.Scope, Roles: c.Role}
	if c.For > 0 {
		entry.Expires = time.Now().Add(c.For).UTC().Truncate(time.Second)
	}
	secret, entry, err := gateway.NewToken(entry)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	path := tokensPath(a, c.Tokens)
	err = changeTokens(path, func(list []gateway.Token) ([]gateway.Token, error) {
		if slices.ContainsFunc(list, func(t gateway.Token) bool { return t.ID == entry.ID }) {
			return nil, config.Usagef("there is a token %q: give another --id, or revoke it first", entry.ID)
		}
		return append(list, entry), nil
	})
	if err != nil {
		return err
	}
	return PrintReply(a, map[string]any{"token": secret, "entry": entry}, func(w io.Writer) {
		fmt.Fprintln(w, secret)
		fmt.Fprintf(a.Err, "token %s of principal %s in tenant %s, for the gateway that reads %s; it is shown only now\n", entry.ID, entry.Principal, entry.Tenant, path)
	})
}

type tokenLsCmd struct{ tokenFlags }

// Run prints the entries.
func (c *tokenLsCmd) Run(a *app.App) error {
	list, err := gateway.ReadTokens(tokensPath(a, c.Tokens))
	if err != nil {
		return err
	}
	return PrintReply(a, list, func(w io.Writer) {
		for _, t := range list {
			until := "always"
			if !t.Expires.IsZero() {
				until = "until " + t.Expires.Format(time.RFC3339)
			}
			fmt.Fprintf(w, "%-16s %s/%s  %s  %s  %s\n", t.ID, t.Tenant, t.Principal, t.Clearance, strings.Join(t.Scopes, ","), until)
		}
	})
}

type tokenRevokeCmd struct {
	tokenFlags
	ID string `arg:"" name:"id" help:"Name of the token."`
}

// Run takes the entry out; a running gateway heeds it at the next request.
func (c *tokenRevokeCmd) Run(a *app.App) error {
	err := changeTokens(tokensPath(a, c.Tokens), func(list []gateway.Token) ([]gateway.Token, error) {
		left := slices.DeleteFunc(slices.Clone(list), func(t gateway.Token) bool { return t.ID == c.ID })
		if len(left) == len(list) {
			return nil, config.Usagef("there is no token %q", c.ID)
		}
		return left, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "revoked %s\n", c.ID)
	return nil
}
