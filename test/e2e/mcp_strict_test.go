package e2e

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"satchel/test/testenv"
)

// goWords are what only a reader of the source understands.
var goWords = regexp.MustCompile(`json:|Go value|Go struct|\*?mcp\.|interface \{\}|unmarshal|jsonrpc2|map\[`)

// strictCalls are messages that an MCP server must refuse, each with the id of its error and with a word
// of what is wrong.
var strictCalls = []struct{ name, message, id, word string }{
	{"a name twice", `{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"remember","arguments":{"text":"a","text":"b"}}}`, `11`, "given twice"},
	{"a name twice in the message", `{"jsonrpc":"2.0","id":12,"method":"tools/list","method":"ping"}`, `12`, "given twice"},
	{"too deep", `{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","filters":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}}}`, `13`, "nested deeper"},
	{"deeper than a decoder goes", `{"jsonrpc":"2.0","id":14,"method":"tools/call","params":` + strings.Repeat(`{"a":`, 20000) + `1` + strings.Repeat("}", 20000) + `}`, `null`, "nested deeper"},
	{"an id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `9007199254740993`, "id"},
	{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `1.5`, "id"},
	{"an id of half a character", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, `"\ud800"`, "id"},
	{"an id without a method", `{"jsonrpc":"2.0","id":28}`, `28`, "no method"},
	{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null`, "id"},
	{"params of another type", `{"jsonrpc":"2.0","id":15,"method":"tools/call","params":[1]}`, `15`, "params"},
	{"a name of another type", `{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":5}}`, `16`, "name"},
	{"arguments of another type", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"search","arguments":"x"}}`, `17`, "must be an object"},
	{"an argument of another type", `{"jsonrpc":"2.0","id":18,"method":"tools/call","params":{"name":"search","arguments":{"query":5}}}`, `18`, "/query: must be a string"},
	{"an argument in another case", `{"jsonrpc":"2.0","id":19,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","Limit":5}}}`, `19`, "write limit"},
	{"an argument that there is not", `{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","nope":5}}}`, `20`, "/nope"},
	{"an argument left out", `{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"search","arguments":{}}}`, `21`, "/query: is required"},
	{"no arguments", `{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"search"}}`, `22`, "/query: is required"},
	{"a number with a fraction", `{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","limit":1.5}}}`, `23`, "/limit: must be a whole number"},
	{"items and an erasure", `{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"forget","arguments":{"items":["a"],"erasure":"b"}}}`, `24`, "/erasure"},
	{"prompt arguments of another type", `{"jsonrpc":"2.0","id":25,"method":"prompts/get","params":{"name":"why","arguments":{"pack":5}}}`, `25`, "arguments"},
	{"a method of another type", `{"jsonrpc":"2.0","id":26,"method":5}`, `26`, "not a message"},
	{"what is not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":27,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"query\":\"\xff\"}}}", `27`, "UTF-8"},
}

const (
	hello   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	welcome = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// refused looks at one reply to a message that must be refused.
func refused(t *testing.T, name, reply, id, word string) {
	t.Helper()
	var m struct {
		ID     json.RawMessage
		Error  *struct{ Message string }
		Result *struct{ IsError bool }
	}
	if err := json.Unmarshal([]byte(reply), &m); err != nil || m.Error == nil && (m.Result == nil || !m.Result.IsError) {
		t.Errorf("%s: not refused: %v %.300s", name, err, reply)
	} else if string(m.ID) != id || !strings.Contains(reply, word) {
		t.Errorf("%s: want id %s and %q: %.300s", name, id, word, reply)
	}
	if found := goWords.FindString(reply); found != "" {
		t.Errorf("%s: says %q: %.300s", name, found, reply)
	}
}

// TestMCPIsAsStrictAsREST: over streams, what REST refuses is refused with the id as it was sent and in
// the words of the product, and the process goes on.
func TestMCPIsAsStrictAsREST(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	messages := []string{hello, welcome}
	for _, c := range strictCalls {
		messages = append(messages, c.message)
	}
	cmd := exec.Command(binary("satchel"), "mcp", "--dir", s.Dir)
	cmd.Stdin = strings.NewReader(strings.Join(append(messages, `{"jsonrpc":"2.0","id":"last","method":"ping"}`, ""), "\n"))
	out, err := cmd.Output()
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(answers) != len(strictCalls)+2 || !strings.Contains(string(out), `"id":"last","result"`) {
		t.Errorf("%v: %d answers\n%.1000s", err, len(answers), out)
	}
	for _, c := range strictCalls {
		at := slices.IndexFunc(answers, func(a string) bool { return strings.Contains(a, `"id":`+c.id+`,`) && strings.Contains(a, c.word) })
		if at < 0 {
			t.Errorf("%s: no answer with id %s and %q", c.name, c.id, c.word)
			continue
		}
		refused(t, c.name, answers[at], c.id, c.word)
	}
}

// TestMCPOverHTTPIsAsStrict: the same over HTTP.
func TestMCPOverHTTPIsAsStrict(t *testing.T) {
	t.Parallel()
	s := testenv.Up(t, binary("satchel"), t.TempDir())
	token, session := newToken(t, s, "one", "--scope", "memory.read", "--scope", "memory.erase", "--scope", "memory.write"), ""
	d := gatewayOf(t, s)
	post := func(message string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/mcp", strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
		if _, data, is := strings.Cut(string(body), "data: "); is {
			return data
		}
		return string(body)
	}
	post(hello)
	post(welcome)
	for _, c := range strictCalls {
		refused(t, c.name, post(c.message), c.id, c.word)
	}
	refused(t, "a batch with a name twice", post(`[{"jsonrpc":"2.0","id":5,"method":"ping","id":6}]`), "6", "given twice")
	if body := post(`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`); !strings.Contains(body, `"id":9007199254740991,"result"`) {
		t.Errorf("the largest id: %s", body)
	}
}
