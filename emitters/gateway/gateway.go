// Package gateway is the HTTP door: the operations of Satchel as JSON over HTTP, and the Model
// Context Protocol and the console beside them, for clients that do not speak NATS.
//
// It promises that an operation does what the same request on NATS does, for the tenant and
// principal of the token: neither path nor body can name another. A request without a valid
// token, with a foreign Host, or from a foreign origin is refused before it is read. Errors are
// those of the contract, with their HTTP status. The gateway opens no store: it holds a NATS
// connection and nothing else.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"

	"satchel/emitters"
	"satchel/emitters/gateway/console"
	"satchel/emitters/gateway/oidc"
	"satchel/schemas"
)

// Config is what a gateway serves. NC and Tokens are required.
type Config struct {
	NC      *nats.Conn
	Tokens  *Tokens
	OIDC    *oidc.Verifier // of JSON Web Tokens; nil: none is taken
	Labels  []string       // of items that carry none
	Hosts   []string       // names under which it may be called, beside localhost and loopback addresses
	Version string
	Key     []byte           // secret of the confirmations of the MCP door, at least 32 bytes
	Clock   func() time.Time // default time.Now
	TLS     bool             // browsers come over TLS, which a proxy ends

	Answered func(Answered) // is told of every request, and must not block; default nobody
	Streams  func(n int)    // is told that n streams of events began, or ended; default nobody
	Metrics  http.Handler   // GET /metrics, for tokens with ScopeAudit; nil: there is none
}

const (
	maxBody  = 1 << 20
	deadline = 30 * time.Second
)

// mostClients is for how many entries of tokens a client is kept, and a server of the Model Context Protocol.
const mostClients = 1024

type gateway struct {
	Config
	mu       sync.Mutex
	clients  *lru.Cache[string, *emitters.Emitter] // by the fingerprint of the token's entry
	limits   *limits                               // of requests
	streams  *limits                               // of those that follow the ledger
	bells    bells
	metadata string // address of the metadata of RFC 9728; "" for none
}

// New returns the handler of all routes.
func New(cfg Config) (http.Handler, error) {
	if cfg.NC == nil || cfg.Tokens == nil || len(cfg.Key) < 32 {
		return nil, errors.New("gateway: a NATS connection, tokens and a key of 32 bytes are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Hosts = append([]string{"localhost"}, cfg.Hosts...)
	clients, err := lru.New[string, *emitters.Emitter](mostClients)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &gateway{Config: cfg, clients: clients, limits: newLimits(mostInFlight), streams: newLimits(mostStreams), bells: bells{of: map[string]*bell{}}}
	mux := http.NewServeMux()
	g.mountMetadata(mux)
	for _, r := range routes {
		mux.Handle(r.method+" "+r.path, g.serveRoute(r))
	}
	document, err := openAPI(cfg.Version)
	if err != nil {
		return nil, err
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, document) })
	body, err := newItemSchema()
	if err != nil {
		return nil, err
	}
	mux.HandleFunc("GET /v1/schemas/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(r.PathValue("name"), ".json")
		if name == "new-item" {
			writeJSON(w, http.StatusOK, body)
			return
		}
		schema, err := schemas.JSONSchema(name)
		if err != nil {
			refuseRequest(w, &schemas.Error{Code: schemas.CodeNotFound, Message: "there is no such schema"})
			return
		}
		writeJSON(w, http.StatusOK, json.RawMessage(schema))
	})
	if cfg.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			if _, ok := g.allowCaller(w, r, ScopeAudit); ok {
				cfg.Metrics.ServeHTTP(w, r)
			}
		})
	}
	mux.HandleFunc("GET "+LedgerPath, g.followLedger)
	if err := g.mountMCP(mux); err != nil {
		return nil, err
	}
	if err := g.mountConsole(mux); err != nil {
		return nil, err
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { answerUnknown(w, r, mux) })
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseRequest(w, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "a web page of another origin may change nothing here"})
	}))
	return console.Headers(g.guardHost(own.Handler(g.countRequests(mux)))), nil
}

// answerUnknown answers where there is no operation. Where the path has others, it lists their methods.
func answerUnknown(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	var has []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" {
			has = append(has, method)
		}
	}
	none := &schemas.Error{Code: schemas.CodeNotFound, Message: "there is no such operation; GET /openapi.json lists them"}
	if len(has) == 0 {
		refuseRequest(w, none)
		return
	}
	w.Header().Set("Allow", strings.Join(has, ", "))
	none.Message = "the path does not have this method; the header Allow lists those that it has"
	writeJSON(w, http.StatusMethodNotAllowed, none)
}

// guardHost refuses a Host that the gateway does not have, so that a web page cannot reach it by a name of its own.
func (g *gateway) guardHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := HostOf(r)
		ip := net.ParseIP(host)
		if (ip == nil || !ip.IsLoopback()) && !slices.ContainsFunc(g.Hosts, func(own string) bool { return strings.EqualFold(own, host) }) {
			refuseRequest(w, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "this gateway is not called by that host name"})
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// HostOf is the host that a request names, without its port, brackets and last dot.
func HostOf(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

// serveRoute is one route with its checks.
func (g *gateway) serveRoute(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := g.allowCaller(w, r, rt.scope)
		if !ok {
			return
		}
		done, err := g.limits.takePlace(who.makeFingerprint())
		if err != nil {
			refuseRequest(w, err)
			return
		}
		defer done()
		if !g.NC.IsConnected() {
			refuseRequest(w, emitters.ErrNotConnected) // the client tries again
			return
		}
		client, err := g.obtainClient(who)
		if err != nil {
			refuseRequest(w, err)
			return
		}
		body, err := readBody(w, r)
		if err != nil {
			refuseRequest(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), deadline)
		defer cancel()
		reply, err := rt.serve(ctx, client, r, body)
		if err != nil {
			refuseRequest(w, err)
			return
		}
		if result, ok := reply.(schemas.ContextResult); ok && strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, result.Payload.Text) // the client went away
			return
		}
		writeJSON(w, http.StatusOK, reply)
	})
}

// obtainClient returns the client that speaks for a token, one for all its requests.
func (g *gateway) obtainClient(who Token) (*emitters.Emitter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, ok := g.clients.Get(who.makeFingerprint()); ok {
		return c, nil
	}
	c, err := emitters.New(g.NC, emitters.Config{Tenant: who.Tenant, Agent: who.Principal, Labels: g.Labels,
		Clearance: cmp.Or(who.Clearance, "public"), Roles: who.listClaimedRoles(), Sandbox: true})
	if err != nil {
		return nil, err
	}
	g.clients.Add(who.makeFingerprint(), c)
	return c, nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: "send JSON: Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &schemas.Error{Code: schemas.CodeTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", maxBody)}
	case err != nil:
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: "the body could not be read"}
	}
	return body, nil
}

// refuseRequest answers with an error of the contract.
func refuseRequest(w http.ResponseWriter, err error) {
	known := emitters.Refusal(err)
	status := known.Code.HTTPStatus()
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, known.RetryAfter)))
	}
	writeJSON(w, status, known)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
		raw = []byte(`{"code":"storage_error","message":"the reply could not be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // the client went away
}
