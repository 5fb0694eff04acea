package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"satchel/pipeline/infra/files"
)

// name is that of the program, by which its own entries in the editor's settings are known.
const name = "satchel-hook"

// moments are the hooks that are installed, and the tools that one of them is for.
func moments() []struct{ event, matcher string } {
	const tools = "Bash|Edit|MultiEdit|Write|NotebookEdit"
	return []struct{ event, matcher string }{
		{event: "SessionStart"}, {event: "UserPromptSubmit"}, {"PostToolUse", tools}, {"PostToolUseFailure", tools},
		{event: "Stop"}, {event: "SubagentStop"}, {event: "PreCompact"}, {event: "SessionEnd"},
	}
}

// member is one of a JSON object, whose order is kept.
type member struct {
	key   string
	value json.RawMessage
}

// entry is what the editor's settings have for one moment: who is called for which tools.
type entry struct {
	Matcher string            `json:"matcher,omitempty"`
	Hooks   []json.RawMessage `json:"hooks"`
}

// settingsFile is .claude/settings.json of the project that the folder is in.
func settingsFile(folder string) string {
	return filepath.Join(projectOf(folder), ".claude", "settings.json")
}

// install makes the settings in a file call the command at each moment, or nothing of this program if it
// is "". Whatever else is there stays as it is.
func install(path, command string, out io.Writer) error {
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && command == "":
		_, err = fmt.Fprintf(out, "%s is not there: nothing calls satchel-hook\n", path)
		return err
	case errors.Is(err, fs.ErrNotExist):
		raw = []byte("{}")
	case err != nil:
		return fmt.Errorf("read the editor's settings: %w", err)
	}
	settings, err := readObject(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at := slices.IndexFunc(settings, func(m member) bool { return m.key == "hooks" })
	if at < 0 {
		settings, at = append(settings, member{"hooks", json.RawMessage("{}")}), len(settings)
	}
	hooks, err := readObject(settings[at].value)
	if err != nil {
		return fmt.Errorf("%s: hooks: %w", path, err)
	}
	if hooks, err = without(hooks); err != nil {
		return fmt.Errorf("%s: hooks: %w", path, err)
	}
	if command != "" {
		if hooks, err = with(hooks, command); err != nil {
			return fmt.Errorf("%s: hooks: %w", path, err)
		}
	}
	settings[at].value = object(hooks)
	if len(hooks) == 0 {
		settings = slices.Delete(settings, at, at+1)
	}
	if err := replace(path, object(settings)); err != nil {
		return err
	}
	said := "%s calls satchel-hook no more\n"
	if command != "" {
		said = "%s calls satchel-hook; the next session of the editor has memories\n"
	}
	_, err = fmt.Fprintf(out, said, path)
	return err
}

// without leaves out what calls this program.
func without(hooks []member) ([]member, error) {
	var left []member
	for _, h := range hooks {
		var entries []json.RawMessage
		if json.Unmarshal(h.value, &entries) != nil {
			return nil, fmt.Errorf("%s is no array", h.key)
		}
		var others []json.RawMessage
		for _, raw := range entries {
			var e entry
			if json.Unmarshal(raw, &e) != nil {
				return nil, fmt.Errorf("an entry of %s is no object with hooks", h.key)
			}
			if foreign := slices.DeleteFunc(slices.Clone(e.Hooks), own); len(foreign) == len(e.Hooks) {
				others = append(others, raw)
			} else if len(foreign) > 0 {
				all, err := readObject(raw)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", h.key, err)
				}
				at := slices.IndexFunc(all, func(m member) bool { return strings.EqualFold(m.key, "hooks") }) // as Unmarshal has it
				all[at].value = encoded(foreign)
				others = append(others, object(all))
			}
		}
		if len(others) > 0 || len(entries) == 0 {
			left = append(left, member{h.key, encoded(others)})
		}
	}
	return left, nil
}

// own reports whether a hook calls this program: by its name, or by that of a release.
func own(raw json.RawMessage) bool {
	var h struct{ Command string }
	if json.Unmarshal(raw, &h) != nil {
		return false
	}
	command := strings.Trim(h.Command, `"`)
	command = command[strings.LastIndexAny(command, `/\`)+1:]
	return command == name || command == name+".exe" || strings.HasPrefix(command, name+"_")
}

// self is how the editor calls this program: by its name where the shell finds it, so that the settings
// can be shared, and by its path otherwise.
func self() (string, error) {
	if _, err := exec.LookPath(name); err == nil {
		return name, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if strings.Contains(path, " ") {
		path = `"` + path + `"`
	}
	return path, nil
}

// with adds a call to each moment.
func with(hooks []member, command string) ([]member, error) {
	call := encoded(map[string]string{"type": "command", "command": command})
	for _, m := range moments() {
		one := encoded(entry{m.matcher, []json.RawMessage{call}})
		at := slices.IndexFunc(hooks, func(h member) bool { return h.key == m.event })
		if at < 0 {
			hooks = append(hooks, member{m.event, encoded([]json.RawMessage{one})})
			continue
		}
		var entries []json.RawMessage
		if json.Unmarshal(hooks[at].value, &entries) != nil {
			return nil, fmt.Errorf("%s is no array", m.event)
		}
		hooks[at].value = encoded(append(entries, one))
	}
	return hooks, nil
}

// readObject reads an object.
func readObject(raw []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("this is no JSON object; mend it first")
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("this is no JSON object; mend it first: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("this is no JSON object; mend it first: %w", err)
		}
		out = append(out, member{key.(string), value})
	}
	if _, err := d.Token(); err != nil || d.More() {
		return nil, errors.New("this is no JSON object; mend it first")
	}
	return out, nil
}

// object writes one.
func object(list []member) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(encoded(m.key))
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// encoded is the JSON of a text, or of what was JSON before, with & and < as they are.
func encoded(v any) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // neither fails; replace would refuse what is no JSON
	return bytes.TrimSpace(out.Bytes())
}

// replace writes a file whole, indented.
func replace(path string, raw []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return fmt.Errorf("write the editor's settings: %w", err)
	}
	out.WriteByte('\n')
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the editor's settings: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o644)
	if was, err := os.Stat(path); err == nil {
		mode = was.Mode().Perm()
	}
	err := files.Write(path, func(w io.Writer) error {
		_, err := out.WriteTo(w)
		return err
	})
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		return fmt.Errorf("write the editor's settings: %w", err)
	}
	return nil
}
