package console

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"net/http"
	"sync"
	"time"

	"satchel/emitters"
	"satchel/schemas"
)

// How long links and sessions last, and how many a token may have; tokens of equal rights count as one.
const (
	linkLasts    = time.Minute
	sessionIdle  = time.Hour
	sessionLasts = 8 * time.Hour
	mostLinks    = 8
	mostSessions = 16
)

// sessions has the links that wait and the sessions that are open, with their tokens. Their secrets have 130 random
// bits and are found by their SHA-256, so that the time of a look-up tells nothing of them.
type sessions struct {
	mu    sync.Mutex
	links map[[sha256.Size]byte]granted
	open  map[[sha256.Size]byte]granted
}

// holder is for whom a secret is: a token, and the key that it had.
type holder struct{ token, key string }

// granted is what a secret gives to whom.
type granted struct {
	holder
	begun time.Time
	ends  time.Time
}

func newSessions() *sessions {
	return &sessions{links: map[[sha256.Size]byte]granted{}, open: map[[sha256.Size]byte]granted{}}
}

// forgetExpired takes out what is over.
func forgetExpired(list map[[sha256.Size]byte]granted, now time.Time) {
	maps.DeleteFunc(list, func(_ [sha256.Size]byte, g granted) bool { return !now.Before(g.ends) })
}

// grantSecret adds a secret, after what is over and, beyond most, the key's oldest were taken out.
func grantSecret(
	list map[[sha256.Size]byte]granted, to holder, now time.Time, lasts time.Duration, most int,
) (secret string) {
	var oldest [sha256.Size]byte
	count := 0
	forgetExpired(list, now)
	for sum, g := range list {
		if g.key != to.key {
			continue
		}
		count++
		if count == 1 || g.begun.Before(list[oldest].begun) {
			oldest = sum
		}
	}
	if count >= most {
		delete(list, oldest)
	}
	secret = rand.Text()
	list[sha256.Sum256([]byte(secret))] = granted{holder: to, begun: now, ends: now.Add(lasts)}
	return secret
}

// offerLink returns the secret of a link.
func (s *sessions) offerLink(to holder, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return grantSecret(s.links, to, now, linkLasts, mostLinks)
}

// useUpLink uses up a link and returns the secret of a session.
func (s *sessions) useUpLink(link string, now time.Time) (secret string, to holder, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte(link))
	g, ok := s.links[sum]
	delete(s.links, sum)
	if !ok || !now.Before(g.ends) {
		return "", holder{}, false
	}
	return grantSecret(s.open, g.holder, now, sessionIdle, mostSessions), g.holder, true
}

// useSession returns for whom a session is, which lasts on.
func (s *sessions) useSession(secret string, now time.Time) (to holder, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forgetExpired(s.links, now)
	forgetExpired(s.open, now)
	sum := sha256.Sum256([]byte(secret))
	g, ok := s.open[sum]
	if !ok || !now.Before(g.ends) {
		delete(s.open, sum)
		return holder{}, false
	}
	g.ends = now.Add(sessionIdle)
	if last := g.begun.Add(sessionLasts); g.ends.After(last) {
		g.ends = last
	}
	s.open[sum] = g
	return g.holder, true
}

// endSession ends a session.
func (s *sessions) endSession(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(secret)))
}

// makeCookie returns the session's cookie with a value and an age. Over TLS its name keeps other hosts
// from setting it.
func (c *console) makeCookie(value string, age int) *http.Cookie {
	out := &http.Cookie{Name: "satchel-console", Value: value, Path: "/console", MaxAge: age,
		HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteStrictMode}
	if c.Secure {
		out.Name = "__Host-satchel-console"
		out.Path = "/"
	}
	return out
}

// identifySession returns for whom the session of a request is.
func (c *console) identifySession(r *http.Request) (Identity, error) {
	ended := newRefusal(schemas.CodeUnauthenticated, "there is no session, or it has ended")
	sent, err := r.Cookie(c.makeCookie("", 0).Name)
	if err != nil {
		return Identity{}, ended
	}
	to, ok := c.sessions.useSession(sent.Value, c.Clock())
	if !ok {
		return Identity{}, ended
	}
	who, err := c.identifyHolder(r, to)
	if err != nil && emitters.Refusal(err).Code == schemas.CodeUnauthenticated {
		c.sessions.endSession(sent.Value)
		return Identity{}, ended
	}
	return who, err
}

// identifyHolder returns for whom a token is, if that is who it was for when it was sent.
func (c *console) identifyHolder(r *http.Request, to holder) (Identity, error) {
	who, err := c.Identify(r.Context(), to.token)
	if err == nil && who.Key != to.key {
		err = newRefusal(schemas.CodeUnauthenticated, "the token has changed")
	}
	return who, err
}

// answerWithLink answers a token with a link.
func (c *console) answerWithLink(w http.ResponseWriter, r *http.Request) {
	who, token, err := c.identifyAsker(r)
	if err != nil {
		known := emitters.Refusal(err)
		if known.Code == schemas.CodeUnauthenticated {
			w.Header().Set("WWW-Authenticate", `Bearer realm="satchel"`)
		}
		writeJSON(w, known.Code.HTTPStatus(), known)
		return
	}
	writeJSON(w, http.StatusOK, Link{Path: Path + "enter?link=" + c.sessions.offerLink(holder{token, who.Key}, c.Clock()),
		Tenant: who.Tenant, Principal: who.Principal, Seconds: int(linkLasts / time.Second)})
}

// identifyAsker returns who asks for a link, and by which token.
func (c *console) identifyAsker(r *http.Request) (who Identity, token string, err error) {
	token, sent := c.Bearer(r)
	if !sent {
		return who, token, newRefusal(schemas.CodeUnauthenticated, "send a token: Authorization: Bearer …")
	}
	if who, err = c.Identify(r.Context(), token); err == nil && !who.Read {
		err = newRefusal(schemas.CodeInsufficientScope, "the token does not have the scope memory.read")
	}
	return who, token, err
}

// Link is the answer to a token that asks for a link.
type Link struct {
	Path      string `json:"path"` // below the address of the gateway
	Tenant    string `json:"tenant"`
	Principal string `json:"principal"`
	Seconds   int    `json:"seconds"` // that the link lasts
}

// showEnterButton shows the button that opens a session: a link that is only looked at is not used up.
func (c *console) showEnterButton(w http.ResponseWriter, r *http.Request) {
	c.renderPage(w, http.StatusOK, Identity{}, page{name: "enter", title: "Enter", data: r.URL.Query().Get("link")})
}

// enterSession opens a session with a link.
func (c *console) enterSession(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	secret, to, ok := c.sessions.useUpLink(r.PostFormValue("link"), c.Clock())
	if !ok {
		c.renderRefusal(w, Identity{}, newRefusal(schemas.CodeUnauthenticated, "the link was used, or is older than a minute"))
		return
	}
	if _, err := c.identifyHolder(r, to); err != nil {
		c.sessions.endSession(secret)
		c.renderRefusal(w, Identity{}, err)
		return
	}
	if old, err := r.Cookie(c.makeCookie("", 0).Name); err == nil {
		c.sessions.endSession(old.Value)
	}
	http.SetCookie(w, c.makeCookie(secret, int(sessionLasts/time.Second)))
	http.Redirect(w, r, Path, http.StatusSeeOther)
}

// leaveSession ends the session.
func (c *console) leaveSession(w http.ResponseWriter, r *http.Request) {
	if sent, err := r.Cookie(c.makeCookie("", 0).Name); err == nil {
		c.sessions.endSession(sent.Value)
	}
	http.SetCookie(w, c.makeCookie("", -1))
	c.renderPage(w, http.StatusOK, Identity{}, page{name: "left", title: "You have left"})
}
