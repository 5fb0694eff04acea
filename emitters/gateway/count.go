package gateway

import (
	"net/http"
	"strings"
	"time"

	"satchel/emitters/gateway/console"
)

// Answered is one request that was answered.
type Answered struct {
	Operation string // of the OpenAPI document, or openapi, schema, metrics, mcp, stream, console, other
	Status    int    // of HTTP
	Took      time.Duration
	NoToken   bool // with status 401: none was sent
	NoScope   bool // the token lacks the scope of the operation
}

// countRequests tells Config.Answered of every request, and Config.Streams of streams that begin and end.
func (g *gateway) countRequests(next http.Handler) http.Handler {
	operations := map[string]string{"GET /openapi.json": "openapi", "GET /v1/schemas/{name}": "schema", "GET /metrics": "metrics", "/mcp": "mcp"}
	for _, r := range routes {
		operations[r.method+" "+r.path] = r.operation
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		stream := r.Method == http.MethodGet && (r.URL.Path == "/mcp" || r.URL.Path == LedgerPath)
		if stream && g.Streams != nil {
			g.Streams(1)
			defer g.Streams(-1)
		}
		next.ServeHTTP(seen, r)
		if g.Answered == nil {
			return
		}
		operation := operations[r.Pattern]
		switch {
		case stream:
			operation = "stream"
		case strings.HasPrefix(r.URL.Path, console.Path):
			operation = "console"
		case operation == "":
			operation = "other"
		}
		g.Answered(Answered{operation, seen.status, time.Since(began), strings.TrimSpace(r.Header.Get("Authorization")) == "",
			seen.status == http.StatusForbidden && w.Header().Get("WWW-Authenticate") != ""})
	})
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	sent   bool
}

// WriteHeader notes the first final status.
func (w *statusWriter) WriteHeader(status int) {
	if !w.sent && status >= http.StatusOK {
		w.status = status
		w.sent = true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write notes that the header was sent.
func (w *statusWriter) Write(p []byte) (int, error) {
	w.sent = true
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written, as streams of events need.
func (w *statusWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // one that cannot, does not
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
