package witness

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"
)

// readLogs reads a file of the logs whose heads are cosigned: a line each, "log VKEY", as in a
// tlog-policy, whose other lines are passed over. A log's key has the log's origin as its name. "#"
// begins a comment.
func readLogs(path string, raw []byte) (map[string]note.Verifier, error) {
	list := map[string]note.Verifier{}
	for i, line := range strings.Split(string(raw), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "witness" || fields[0] == "group" || fields[0] == "quorum" {
			continue
		}
		if fields[0] != "log" || len(fields) < 2 {
			return nil, fmt.Errorf("read logs: %s, line %d: want log VKEY", path, i+1)
		}
		key, err := note.NewVerifier(fields[1])
		if err != nil {
			return nil, fmt.Errorf("read logs: %s, line %d: %w", path, i+1, err)
		}
		if _, twice := list[key.Name()]; twice {
			return nil, fmt.Errorf("read logs: %s, line %d: %s has a key already", path, i+1, key.Name())
		}
		list[key.Name()] = key
	}
	return list, nil
}

// logs are the logs of a file, which is read again when it changes.
type logs struct {
	path   string
	unread func(error)

	mu   sync.Mutex
	raw  []byte // what it held last
	list map[string]note.Verifier
}

func openLogs(path string, unread func(error)) (*logs, error) {
	if unread == nil {
		unread = func(error) {}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read logs: %w", err)
	}
	list, err := readLogs(path, raw)
	return &logs{path: path, unread: unread, raw: raw, list: list}, err
}

// find returns the key of a log by its origin, nil for a log that is not in the file.
func (l *logs) find(origin string) note.Verifier {
	l.mu.Lock()
	defer l.mu.Unlock()
	if raw, err := os.ReadFile(l.path); err == nil && !bytes.Equal(raw, l.raw) {
		l.raw = raw
		if list, err := readLogs(l.path, raw); err == nil {
			l.list = list
		} else {
			l.unread(err)
		}
	}
	return l.list[origin]
}
