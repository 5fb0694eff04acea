package demo

import (
	"bytes"
	_ "embed" // the story
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"satchel/schemas"
)

//go:embed memories.jsonl
var memories []byte

//go:embed odd.jsonl
var odd []byte

//go:embed questions.jsonl
var questions []byte

// oddEvent is an event that must not get into the log, or not again.
type oddEvent struct {
	Item  json.RawMessage `json:"item"`
	Again string          `json:"again"` // publish this memory's event once more
	Reuse string          `json:"reuse"` // publish Item under this memory's event id
}

// question is a question and the memory that answers it.
type question struct {
	Question string `json:"question"`
	Evidence string `json:"evidence"` // item id
}

// readMemories returns the memories, in order.
func readMemories() ([]schemas.MemoryItem, error) {
	items, err := decodeLines[schemas.MemoryItem](memories)
	for i := range items {
		items[i].Scope.Tenant = demoTenant
	}
	return items, err
}

// countKinds says what the memories are, in words.
func countKinds(items []schemas.MemoryItem) string {
	n := map[string]int{}
	for i := range items {
		m := &items[i]
		switch {
		case m.Kind == schemas.KindTool:
			n["tool"]++
		case m.Category == "playbook":
			n["playbook"]++
		case m.Kind == schemas.KindMemory:
			n["note"]++
		case m.Kind == schemas.KindKnowledge && m.Category != "entity":
			n["chunk"]++
		default:
			n["other"]++
		}
	}
	return fmt.Sprintf("%d knowledge chunks, %d playbooks, %d session notes, %d tools with safety tags, %d other things",
		n["chunk"], n["playbook"], n["note"], n["tool"], n["other"])
}

func decodeLines[T any](raw []byte) ([]T, error) {
	var list []T
	lines := json.NewDecoder(bytes.NewReader(raw))
	for {
		var v T
		err := lines.Decode(&v)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("demo line %d: %w", len(list)+1, err)
		}
		list = append(list, v)
	}
}

// gatewayLog is what the gateway logged on the morning of the outage: 6,000 lines, most of them alike.
func gatewayLog() string {
	var b strings.Builder
	at := time.Date(2026, 3, 3, 8, 30, 0, 0, time.UTC)
	for i := range 6000 {
		now := at.Add(time.Duration(i) * 600 * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
		proxy := "proxy-" + string(rune('a'+i%2))
		switch {
		case i == 3000:
			fmt.Fprintf(&b, "%s ERROR %s tls: certificate has expired: not after 2026-03-03T09:00:00Z\n", now, proxy)
		case i > 3000 && i < 5600 && i%3 == 0:
			fmt.Fprintf(&b, "%s ERROR %s handshake failed for client 10.0.%d.%d, answered 502\n", now, proxy, i%200, i%250)
		case i == 5600:
			fmt.Fprintf(&b, "%s WARN  %s reloaded certificate, not after 2026-06-01T09:00:00Z\n", now, proxy)
		default:
			fmt.Fprintf(&b, "%s INFO  %s authorised request %06d in %d ms\n", now, proxy, i, 20+i%37)
		}
	}
	return b.String()
}
