package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/emitters/gateway"
)

// A file that cannot be read lets nobody in and is reported once; mended, its tokens hold again.
func TestTokens(t *testing.T) {
	t.Parallel()
	entry := gateway.Token{ID: "shell", Tenant: "main", Principal: "shell", Scopes: []string{gateway.ScopeRead}}
	secret, kept, err := gateway.NewToken(entry)
	must(t, err)
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	must(t, gateway.WriteTokens(path, []gateway.Token{kept}))
	good, err := os.ReadFile(path)
	must(t, err)
	var reports []string
	tokens, err := gateway.OpenTokens(path, func(err error) { reports = append(reports, err.Error()) })
	must(t, err)
	for _, state := range []struct {
		file  string
		holds bool
	}{{string(good), true}, {strings.Replace(string(good), "memory.read", "memory.wipe", 1), false}, {string(good), true}, {"tokens: 7", false}} {
		must(t, os.WriteFile(path, []byte(state.file), 0o600))
		for range 2 {
			if _, ok := tokens.Find(secret, time.Now()); ok != state.holds {
				t.Errorf("the token holds: %v with\n%s", ok, state.file)
			}
		}
	}
	if len(reports) != 2 || !strings.Contains(reports[0], `there is no scope "memory.wipe"`) {
		t.Errorf("reported: %q", reports)
	}
}

// An entry that would make the file unreadable is refused.
func TestNewTokenRefusesABadEntry(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*gateway.Token){
		"scope":     func(e *gateway.Token) { e.Scopes = []string{"memory.wipe"} },
		"principal": func(e *gateway.Token) { e.Principal = "alice@example.com" },
		"tenant":    func(e *gateway.Token) { e.Tenant = "bad tenant" },
		"clearance": func(e *gateway.Token) { e.Clearance = "secret" },
		"id":        func(e *gateway.Token) { e.ID = "" },
	} {
		entry := gateway.Token{ID: "a", Tenant: "main", Principal: "a", Scopes: gateway.Scopes()}
		change(&entry)
		if _, _, err := gateway.NewToken(entry); err == nil {
			t.Errorf("a bad %s is taken", name)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
