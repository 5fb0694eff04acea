// Package script holds the story that satchel demo tells: an outage at a payment
// company as its agents remember it, with a few events that must not get in.
package script

import (
	"bufio"
	"bytes"
	_ "embed" // the story
	"encoding/json"
	"fmt"

	"satchel/schemas"
)

//go:embed memories.jsonl
var memories []byte

//go:embed odd.jsonl
var odd []byte

// Odd is an event that must not get into the log, or not again.
type Odd struct {
	Why   string          `json:"why"`
	Item  json.RawMessage `json:"item"`
	Again string          `json:"again"` // publish this memory's event once more
	Reuse string          `json:"reuse"` // publish Item under this memory's event id
}

// Memories returns the memories, in order, as items of tenant.
func Memories(tenant string) ([]schemas.MemoryItem, error) {
	lines, err := decodeLines[schemas.MemoryItem](memories)
	for i := range lines {
		lines[i].Scope.Tenant = tenant
	}
	return lines, err
}

// Contents says what the memories are, in words.
func Contents(items []schemas.MemoryItem) string {
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

// Odds returns what must be refused, in order.
func Odds() ([]Odd, error) { return decodeLines[Odd](odd) }

func decodeLines[T any](raw []byte) ([]T, error) {
	var list []T
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("demo line %d: %w", len(list)+1, err)
		}
		list = append(list, v)
	}
	return list, lines.Err()
}

//go:embed questions.jsonl
var questions []byte

// Question is a question and the memory that answers it.
type Question struct {
	Question string `json:"question"`
	Evidence string `json:"evidence"` // item id
}

// Questions returns the labelled questions, in order.
func Questions() ([]Question, error) { return decodeLines[Question](questions) }
