package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const foreign = `{
  "permissions": {
    "allow": [
      "Bash(make && go:*)"
    ]
  },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "say done",
            "timeout": 5
          }
        ],
        "note": "ours"
      }
    ]
  },
  "model": "opus"
}
`

func TestInstall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".claude", "settings.json")
	read := func() string {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	set := func(command string) {
		t.Helper()
		var out strings.Builder
		if err := install(path, command, &out); err != nil || !strings.Contains(out.String(), path) {
			t.Fatalf("install %q: %v, said %q", command, err, out.String())
		}
	}
	set(name)
	if got := read(); strings.Count(got, name) != len(moments()) || !strings.Contains(got, `"matcher": "Bash|Edit|`) {
		t.Errorf("installed into nothing: %s", got)
	}
	set("")
	if got := read(); got != "{}\n" {
		t.Errorf("taken out of what it made: %s", got)
	}
	if err := errors.Join(os.WriteFile(path, []byte(foreign), 0o600), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	set("/opt/bin/satchel-hook")
	set(`"C:\\Program Files\\satchel-hook.exe"`)
	set("/opt/satchel-hook_0.9.0_linux_amd64")
	set(name)
	once := read()
	set(name)
	if diff := cmp.Diff(once, read()); diff != "" {
		t.Errorf("installed twice (-once +twice):\n%s", diff)
	}
	if strings.Count(once, name) != len(moments()) || !strings.Contains(once, `"say done"`) {
		t.Errorf("installed: %s", once)
	}
	set("")
	if diff := cmp.Diff(foreign, read()); diff != "" {
		t.Errorf("taken out again (-before +after):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestUninstallReadsMembersInAnotherCase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	text := `{"hooks":{"Stop":[{"Hooks":[{"command":"satchel-hook"},{"command":"say done"}]}]}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := install(path, "", new(strings.Builder)); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || strings.Contains(string(raw), name) || !strings.Contains(string(raw), "say done") {
		t.Errorf("left %s, %v", raw, err)
	}
}

func TestInstallLeavesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	for _, text := range []string{"", "[]", `{"hooks": []}`, `{"hooks": {"Stop": {}}}`, "{ // a comment\n}", `{"hooks": {"Stop": [1]}}`, "{} {}"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := install(path, name, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != text {
			t.Errorf("%q became %q, %v", text, raw, err)
		}
	}
}

// A person who asks for help, or mistypes, is answered without input.
func TestArguments(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"--help"}, nil, &out); err != nil || !strings.Contains(out.String(), "install") {
		t.Errorf("--help: %v, said %q", err, out.String())
	}
	if err := run(t.Context(), []string{"instal"}, nil, &out); !errors.Is(err, errUsage) {
		t.Errorf("instal: %v", err)
	}
}
