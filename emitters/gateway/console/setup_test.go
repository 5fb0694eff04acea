package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/emitters/gateway"
	"satchel/schemas"
	"satchel/test/testenv"
)

// node is the running satchel that the tests share; each test has a tenant of its own.
var node *testenv.Satchel

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "satchel-console-")
	if err == nil {
		defer os.RemoveAll(dir)
		if err = testenv.Build("../../..", dir, "./cmd/satchel"); err == nil {
			node, err = testenv.Start(filepath.Join(dir, "satchel"), filepath.Join(dir, "data"))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer node.Stop()
	return m.Run()
}

// site is a gateway before the shared node, with a clock of its own.
type site struct {
	*testing.T
	url    string
	tenant string
	file   string // of the tokens
	list   []gateway.Token
	nc     *nats.Conn
	ahead  atomic.Int64 // of the real clock
}

func setup(t *testing.T, secure bool, change ...func(*gateway.Config)) *site {
	t.Helper()
	s := &site{T: t, tenant: strings.ToLower(t.Name()), file: filepath.Join(t.TempDir(), "tokens.yaml")}
	s.must(gateway.WriteTokens(s.file, nil))
	tokens, err := gateway.OpenTokens(s.file, nil)
	s.must(err)
	s.nc, err = nats.Connect(node.URL)
	s.must(err)
	t.Cleanup(s.nc.Close)
	cfg := gateway.Config{NC: s.nc, Tokens: tokens, Key: []byte(strings.Repeat("k", 32)), TLS: secure,
		Clock: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }}
	for _, c := range change {
		c(&cfg)
	}
	handler, err := gateway.New(cfg)
	s.must(err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// token registers a token and returns it.
func (s *site) token(principal, level string, scopes ...string) string {
	s.Helper()
	entry := gateway.Token{ID: principal, Tenant: s.tenant, Principal: principal, Clearance: level, Scopes: scopes}
	secret, entry, err := gateway.NewToken(entry)
	s.must(err)
	s.list = append(s.list, entry)
	s.must(gateway.WriteTokens(s.file, s.list))
	return secret
}

// planner and auditor are the two principals of most tests.
func (s *site) planner() *browser { return s.enter(s.token("planner", "internal", "memory.read")) }
func (s *site) auditor() *browser {
	return s.enter(s.token("auditor", "internal", "memory.read", "memory.audit"))
}

// remember stores an item and waits until it is found.
func (s *site) remember(item schemas.MemoryItem) schemas.Receipt {
	s.Helper()
	agent, err := emitters.New(s.nc, emitters.Config{Tenant: s.tenant, Agent: "planner", Labels: []string{"level:internal"}})
	s.must(err)
	receipt, err := agent.Remember(s.Context(), item, &emitters.Options{Wait: schemas.ReceiptIndexed})
	s.must(err)
	return receipt
}

// browser is a client with cookies.
type browser struct {
	*site
	client *http.Client
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	s.must(err)
	return &browser{s, &http.Client{Jar: jar}}
}

var linkPattern = regexp.MustCompile(`"path":"([^"]+)"`)

// link returns a link for a token.
func (s *site) link(token string) string {
	s.Helper()
	res := s.browser().send("POST", "/console/link", nil, "Authorization: Bearer "+token)
	found := linkPattern.FindStringSubmatch(res.body)
	if res.StatusCode != 200 || found == nil {
		s.Fatalf("link: %s %s", res.Status, res.body)
	}
	return found[1]
}

// enter opens a session.
func (s *site) enter(token string) *browser {
	s.Helper()
	b := s.browser()
	if res := b.use(s.link(token)); res.StatusCode != 200 || res.Request.URL.Path != "/console/" {
		s.Fatalf("enter: %s %s", res.Status, res.body)
	}
	return b
}

// use posts what the button of a link's page posts.
func (b *browser) use(link string) answer {
	b.Helper()
	at, err := url.Parse(link)
	b.must(err)
	return b.send("POST", "/console/enter", url.Values{"link": {at.Query().Get("link")}})
}

// answer is a reply with its body.
type answer struct {
	*http.Response
	body string
}

func (b *browser) get(path string) answer {
	b.Helper()
	return b.send("GET", path, nil)
}

// page is get for a page that has to be there.
func (b *browser) page(path string) string {
	b.Helper()
	res := b.get(path)
	if res.StatusCode != 200 {
		b.Fatalf("%s: %s %s", path, res.Status, res.body)
	}
	return res.body
}

// send sends a request; a header is "Name: value".
func (b *browser) send(method, path string, form url.Values, headers ...string) answer {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	b.must(err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	res, err := b.client.Do(req)
	b.must(err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	b.must(err)
	return answer{res, string(raw)}
}

// ask asks a question and returns the address and the text of the pack's page.
func (b *browser) ask(question string) (path, text string) {
	b.Helper()
	res := b.send("POST", "/console/ask", url.Values{"question": {question}, "budget": {"1000"}})
	if res.StatusCode != 200 || !strings.HasPrefix(res.Request.URL.Path, "/console/packs/") {
		b.Fatalf("ask: %s %s", res.Status, res.body)
	}
	return res.Request.URL.Path, res.body
}
