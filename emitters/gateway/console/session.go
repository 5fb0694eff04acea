package console

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"satchel/emitters"
	"satchel/schemas"
)

// How long links and sessions last, and how many a token may have.
const (
	linkLasts    = time.Minute
	sessionIdle  = time.Hour
	sessionLasts = 8 * time.Hour
	mostLinks    = 8
	mostSessions = 16
)

// sessions has the links that wait and the sessions that are open. Their secrets have 130 random
// bits and are found by their SHA-256, so that the time of a look-up tells nothing of them.
type sessions struct {
	mu    sync.Mutex
	links map[[sha256.Size]byte]granted
	open  map[[sha256.Size]byte]granted
}

// granted is what a secret gives to whom.
type granted struct {
	key   string // of the token's entry
	begun time.Time
	ends  time.Time
}

func newSessions() *sessions {
	return &sessions{links: map[[sha256.Size]byte]granted{}, open: map[[sha256.Size]byte]granted{}}
}

// grant adds a secret, after what is over and, beyond most, the token's oldest were taken out.
func grant(
	list map[[sha256.Size]byte]granted, key string, now time.Time, lasts time.Duration, most int,
) (secret string) {
	var oldest [sha256.Size]byte
	count := 0
	for sum, g := range list {
		if !now.Before(g.ends) {
			delete(list, sum)
			continue
		}
		if g.key != key {
			continue
		}
		if count++; count == 1 || g.begun.Before(list[oldest].begun) {
			oldest = sum
		}
	}
	if count >= most {
		delete(list, oldest)
	}
	secret = rand.Text()
	list[sha256.Sum256([]byte(secret))] = granted{key: key, begun: now, ends: now.Add(lasts)}
	return secret
}

// offer returns the secret of a link.
func (s *sessions) offer(key string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return grant(s.links, key, now, linkLasts, mostLinks)
}

// enter uses up a link and returns the secret of a session.
func (s *sessions) enter(link string, now time.Time) (secret, key string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte(link))
	g, ok := s.links[sum]
	delete(s.links, sum)
	if !ok || !now.Before(g.ends) {
		return "", "", false
	}
	return grant(s.open, g.key, now, sessionIdle, mostSessions), g.key, true
}

// use returns the token's entry of a session, which lasts on.
func (s *sessions) use(secret string, now time.Time) (key string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte(secret))
	g, ok := s.open[sum]
	if !ok || !now.Before(g.ends) {
		delete(s.open, sum)
		return "", false
	}
	g.ends = now.Add(sessionIdle)
	if last := g.begun.Add(sessionLasts); g.ends.After(last) {
		g.ends = last
	}
	s.open[sum] = g
	return g.key, true
}

// end ends a session.
func (s *sessions) end(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(secret)))
}

// cookie returns the session's cookie with a value and an age. Over TLS its name keeps other hosts
// from setting it.
func (c *console) cookie(value string, age int) *http.Cookie {
	out := &http.Cookie{Name: "satchel-console", Value: value, Path: "/console", MaxAge: age,
		HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteStrictMode}
	if c.Secure {
		out.Name, out.Path = "__Host-satchel-console", "/"
	}
	return out
}

// session returns for whom the session of a request is.
func (c *console) session(r *http.Request) (Identity, bool) {
	sent, err := r.Cookie(c.cookie("", 0).Name)
	if err != nil {
		return Identity{}, false
	}
	key, ok := c.sessions.use(sent.Value, c.Clock())
	if !ok {
		return Identity{}, false
	}
	who, ok := c.Holds(key)
	if !ok {
		c.sessions.end(sent.Value)
	}
	return who, ok
}

// link answers a token with a link.
func (c *console) link(w http.ResponseWriter, r *http.Request) {
	who, ok := c.Identify(r)
	var err error
	switch {
	case !ok:
		err = refusal(schemas.CodeUnauthenticated, "send a token of satchel token add: Authorization: Bearer …")
	case !who.Read:
		err = refusal(schemas.CodeInsufficientScope, "the token does not have the scope memory.read")
	}
	if err != nil {
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer realm="satchel"`)
		}
		writeJSON(w, emitters.Refusal(err).Code.HTTPStatus(), emitters.Refusal(err))
		return
	}
	writeJSON(w, http.StatusOK, Link{Path: Path + "enter?link=" + c.sessions.offer(who.Key, c.Clock()),
		Tenant: who.Tenant, Principal: who.Principal, Seconds: int(linkLasts / time.Second)})
}

// Link is the answer to a token that asks for a link.
type Link struct {
	Path      string `json:"path"` // below the address of the gateway
	Tenant    string `json:"tenant"`
	Principal string `json:"principal"`
	Seconds   int    `json:"seconds"` // that the link lasts
}

// arrive shows the button that opens a session: a link that is only looked at is not used up.
func (c *console) arrive(w http.ResponseWriter, r *http.Request) {
	c.render(w, http.StatusOK, Identity{}, page{name: "enter", title: "Enter", data: r.URL.Query().Get("link")})
}

// enter opens a session with a link.
func (c *console) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	secret, key, ok := c.sessions.enter(r.PostFormValue("link"), c.Clock())
	if ok {
		if _, ok = c.Holds(key); !ok {
			c.sessions.end(secret)
		}
	}
	if !ok {
		c.refuse(w, Identity{}, refusal(schemas.CodeUnauthenticated, "the link was used, or is older than a minute"))
		return
	}
	if old, err := r.Cookie(c.cookie("", 0).Name); err == nil {
		c.sessions.end(old.Value)
	}
	http.SetCookie(w, c.cookie(secret, int(sessionLasts/time.Second)))
	http.Redirect(w, r, Path, http.StatusSeeOther)
}

// leave ends the session.
func (c *console) leave(w http.ResponseWriter, r *http.Request) {
	if sent, err := r.Cookie(c.cookie("", 0).Name); err == nil {
		c.sessions.end(sent.Value)
	}
	http.SetCookie(w, c.cookie("", -1))
	c.render(w, http.StatusOK, Identity{}, page{name: "left", title: "You have left"})
}
