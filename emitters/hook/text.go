package hook

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shortenText keeps head and tail of a text that is too long, and says what it left out.
func (h *Hooks) shortenText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= h.cfg.Longest {
		return text
	}
	head := h.cfg.Longest / 2
	tail := len(text) - h.cfg.Longest/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + "\n… " + strconv.Itoa(tail-head) + " bytes left out …\n" + text[tail:]
}

func encodeJSON(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode attributes: %w", err)
	}
	return raw, nil
}

// joinLines joins what is not empty, a line each.
func joinLines(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if strings.TrimSpace(p) != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// labelText is "name: text", or nothing without a text.
func labelText(name, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return name + ": " + text
}

// numberLines is a list, one a line.
func numberLines(list []string) string {
	var b strings.Builder
	for i, s := range list {
		fmt.Fprintf(&b, "%d. %s\n", i+1, s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
