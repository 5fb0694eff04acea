// Package console serves web pages that show one principal what Satchel answered, what it left out
// and why, and what the log has of it.
//
// It promises that a page shows what the same principal is given over HTTP, and nothing else: each
// page calls the Go client, so that policy, limits and the ledger are those of the service. A page
// changes no item. A question is asked, and an item that was left out is read, by POST alone: the log has
// both. Content is hostile: it is escaped, and marks that are not seen, or that turn text round, are shown
// as U+XXXX. Every reply forbids scripts, styles, frames and connections that are not of the console
// itself, and what it says may not be stored.
//
// # Sessions
//
// Who has a token posts to /console/link and gets a link that works once, within a minute. It opens
// a session, whose random id is in a cookie that scripts and other sites cannot use. The token stays in
// memory and is checked for each page. A session ends after an hour without use, after eight hours, when its
// user leaves, and as soon as its token expires, is revoked, or stands for somebody else.
package console

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"satchel/emitters"
	"satchel/schemas"
)

// Identity is for whom a session is.
type Identity struct {
	Key       string // of the token's entry, or of a JSON Web Token's claims: another one once these change
	Tenant    string
	Principal string
	Read      bool                              // may ask and read
	Audit     bool                              // may follow the ledger
	Client    func() (*emitters.Emitter, error) // the client that speaks for it
}

// Config is what the console stands on. All fields are required but Secure and Clock.
type Config struct {
	Bearer   func(*http.Request) (token string, sent bool)             // the token of a request
	Identify func(ctx context.Context, token string) (Identity, error) // whom a token speaks for now
	Begin    func(key string) (done func(), err error)                 // takes a place among the requests of a token
	Secure   bool                                                      // browsers come over TLS
	Clock    func() time.Time                                          // default time.Now
}

// Path is where the console is.
const Path = "/console/"

const deadline = 30 * time.Second

//go:embed static
var static embed.FS

type console struct {
	Config
	sessions *sessions
	pages    map[string]*template.Template
}

// view is one request of a session.
type view struct {
	*http.Request
	who    Identity
	client *emitters.Emitter
}

// page is what a handler answers: a page and its data, or a place to go to.
type page struct {
	name, title string
	data        any
	to          string
}

// New returns the handler of all paths below Path.
func New(cfg Config) (http.Handler, error) {
	if cfg.Bearer == nil || cfg.Identify == nil || cfg.Begin == nil {
		return nil, errors.New("console: Bearer, Identify and Begin are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	c := &console{Config: cfg, sessions: newSessions(), pages: pages}
	mux := http.NewServeMux()
	for path, show := range map[string]func(view) (page, error){
		"GET /console/{$}":                      makeOverviewPage,
		"GET /console/ask":                      makeAskPage,
		"POST /console/ask":                     answerQuestion,
		"GET /console/packs":                    makePacksPage,
		"GET /console/packs/{pack}":             makePackPage,
		"GET /console/packs/{pack}/debug":       makeDebugPage,
		"GET /console/packs/{pack}/items/{id}":  makeExplainPage,
		"POST /console/packs/{pack}/items/{id}": readItem,
		"GET /console/diff":                     makeDiffPage,
		"GET /console/write":                    makeWritePage,
		"GET /console/erasures":                 requireAudit(makeErasuresPage),
		"GET /console/ledger":                   requireAudit(makeLedgerPage),
		"GET /console/verify":                   makeVerifyPage,
	} {
		mux.Handle(path, c.servePage(show))
	}
	mux.Handle("GET /console/ledger/entries", c.servePageData(requireAudit(ledgerSince)))
	mux.Handle("GET /console/packs/{pack}/proof", c.servePageData(makeProofPage))
	mux.HandleFunc("POST /console/link", c.answerWithLink)
	mux.HandleFunc("GET /console/enter", c.showEnterButton)
	mux.HandleFunc("POST /console/enter", c.enterSession)
	mux.HandleFunc("POST /console/leave", c.leaveSession)
	mux.HandleFunc("GET /console/static/{file}", c.serveFile)
	mux.Handle("GET /console", http.RedirectHandler(Path, http.StatusSeeOther))
	mux.HandleFunc("/", c.answerOtherPaths(mux))
	return mux, nil
}

// serveFile serves the stylesheet and the script.
func (c *console) serveFile(w http.ResponseWriter, r *http.Request) {
	name := "static/" + r.PathValue("file")
	if _, err := fs.Stat(static, name); err != nil {
		c.renderError(w, Identity{}, http.StatusNotFound, newRefusal(schemas.CodeNotFound, "there is no such file"))
		return
	}
	http.ServeFileFS(w, r, static, name)
}

// Headers sets, for paths of the console, the headers that every reply has, also one that is refused
// before it comes to the console.
func Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == strings.TrimSuffix(Path, "/") || strings.HasPrefix(r.URL.Path, Path) {
			h := w.Header()
			h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
				"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Cache-Control", "no-store")
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
		}
		next.ServeHTTP(w, r)
	})
}

// answerOtherPaths answers for a path that is no page, or for a method that a page does not have.
func (c *console) answerOtherPaths(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			probe := r.Clone(r.Context())
			probe.Method = method
			if _, pattern := mux.Handler(probe); pattern != "/" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			c.renderError(w, Identity{}, http.StatusNotFound, newRefusal(schemas.CodeNotFound, "there is no such page"))
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		c.renderError(w, Identity{}, http.StatusMethodNotAllowed, newRefusal(schemas.CodeValidation,
			"this page is asked for by "+strings.Join(allowed, " or ")))
	}
}

// beginView returns the session's view of a request and how it ends, or the refusal.
func (c *console) beginView(r *http.Request) (v view, end func(), err error) {
	who, err := c.identifySession(r)
	if err != nil {
		return v, nil, err
	}
	v.who = who
	if !who.Read {
		return v, nil, newRefusal(schemas.CodeInsufficientScope, "the token does not have the scope memory.read")
	}
	done, err := c.Begin(who.Key)
	if err != nil {
		return v, nil, err
	}
	if v.client, err = who.Client(); err != nil {
		done()
		return v, nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	v.Request = r.WithContext(ctx)
	return v, func() { cancel(); done() }, nil
}

// servePage serves a page.
func (c *console) servePage(handle func(view) (page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		v, end, err := c.beginView(r)
		if err != nil {
			c.renderRefusal(w, v.who, err)
			return
		}
		defer end()
		p, err := handle(v)
		switch {
		case err != nil:
			c.renderRefusal(w, v.who, err)
		case p.to != "":
			http.Redirect(w, r, p.to, http.StatusSeeOther)
		default:
			c.renderPage(w, http.StatusOK, v.who, p)
		}
	})
}

// servePageData serves the data of a page to its script.
func (c *console) servePageData(handle func(view) (page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, end, err := c.beginView(r)
		if err != nil {
			writeJSON(w, emitters.Refusal(err).Code.HTTPStatus(), emitters.Refusal(err))
			return
		}
		defer end()
		p, err := handle(v)
		if err != nil {
			writeJSON(w, emitters.Refusal(err).Code.HTTPStatus(), emitters.Refusal(err))
			return
		}
		writeJSON(w, http.StatusOK, p.data)
	})
}

// requireAudit serves a page to tokens with the scope memory.audit alone.
func requireAudit(handle func(view) (page, error)) func(view) (page, error) {
	return func(v view) (page, error) {
		if !v.who.Audit {
			return page{}, newRefusal(schemas.CodeInsufficientScope, "the token does not have the scope memory.audit")
		}
		return handle(v)
	}
}

// renderRefusal answers with a page that says what is wrong and what to do.
func (c *console) renderRefusal(w http.ResponseWriter, who Identity, err error) {
	known := emitters.Refusal(err)
	status := known.Code.HTTPStatus()
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	c.renderError(w, who, status, known)
}

// remedies say what to do about an error.
var remedies = map[schemas.Code]string{
	schemas.CodeUnauthenticated:   "Run satchel console with your token and open the link that it prints.",
	schemas.CodeInsufficientScope: "Ask the operator for a token with this scope: satchel token add --scope.",
	schemas.CodePolicyDenied:      "Ask as the principal that the pack was made for, or as an auditor.",
	schemas.CodeNotFound:          "Check the address, or choose from Packs.",
	schemas.CodeStorage:           "Check that satchel up runs, then try again.",
	schemas.CodeOverloaded:        "Wait a moment, then try again.",
	schemas.CodeDeadlineExceeded:  "Try again; if it happens again, run satchel doctor.",
}

func (c *console) renderError(w http.ResponseWriter, who Identity, status int, err *schemas.Error) {
	c.renderPage(w, status, who, page{name: "error", title: http.StatusText(status),
		data: struct {
			Error  *schemas.Error
			Remedy string
		}{err, cmp.Or(remedies[err.Code], "Go back and correct it.")}})
}

func newRefusal(code schemas.Code, message string) *schemas.Error {
	return &schemas.Error{Code: code, Message: message}
}

// notFound is what a session is told of a pack that another principal asked for, or nobody.
func notFound() error {
	return newRefusal(schemas.CodeNotFound, "there is no such pack that you may see")
}

// kindsOf reads the kinds of the ledger that a query names.
func kindsOf(v view) ([]schemas.LedgerKind, error) {
	var kinds []schemas.LedgerKind
	for _, k := range v.URL.Query()["kind"] {
		if !slices.Contains(schemas.LedgerKinds(), schemas.LedgerKind(k)) {
			return nil, newRefusal(schemas.CodeValidation, "there is no such kind of the ledger")
		}
		kinds = append(kinds, schemas.LedgerKind(k))
	}
	return kinds, nil
}
