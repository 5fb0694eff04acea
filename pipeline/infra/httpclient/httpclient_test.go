package httpclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"satchel/pipeline/infra/httpclient"
)

func TestPost(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("Api-Key") != "other" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("header %v", r.Header)
		}
		text := "{}"
		switch r.URL.Path {
		case "/long":
			text = strings.Repeat("x", 11)
		case "/short":
			w.Header().Set("Content-Length", "9")
		case "/busy":
			w.Header().Set("Retry-After", "1.5")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/later":
			w.Header().Set("Retry-After", noon.Add(time.Minute).Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/moved":
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusFound)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := httpclient.New(httpclient.Config{Key: "s3cret", Header: map[string]string{"Api-Key": "other"}, MaxAnswer: 10, Clock: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if got, err := c.Post(t.Context(), server.URL, []byte("{}")); string(got) != "{}" || err != nil {
		t.Errorf("answer %q, %v", got, err)
	}
	for path, want := range map[string]struct {
		httpclient.Error
		transient bool
	}{
		"/long":  {httpclient.Error{Kind: httpclient.TooLong}, false},
		"/short": {httpclient.Error{Kind: httpclient.BrokenOff}, true},
		"/busy":  {httpclient.Error{Kind: httpclient.Refused, Status: 429, Body: []byte("{}"), After: 1500 * time.Millisecond}, true},
		"/later": {httpclient.Error{Kind: httpclient.Refused, Status: 503, Body: []byte("{}"), After: time.Minute}, true},
		"/moved": {httpclient.Error{Kind: httpclient.Refused, Status: 302, Body: []byte("{}")}, false},
	} {
		_, err := c.Post(t.Context(), server.URL+path, []byte("{}"))
		var e *httpclient.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", path, err)
		}
		if e.Kind != want.Kind || e.Status != want.Status || string(e.Body) != string(want.Body) || e.After != want.After || e.Transient() != want.transient {
			t.Errorf("%s: %+v", path, e)
		}
	}
	server.Close()
	_, err = c.Post(t.Context(), server.URL+"/s3cret", []byte("{}"))
	var e *httpclient.Error
	if !errors.As(err, &e) || e.Kind != httpclient.Unreachable || !e.Transient() || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.Post(ctx, server.URL, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, key, want string }{
		{"http://s3cret\x7f", "", "not a URL"},
		{"host:80", "", "want http"},
		{"ftp://host", "", "want http"},
		{"https://me:s3cret@host", "", "names a user"},
		{"https://host/#s3cret", "", "fragment"},
		{"http://host", "s3cret", "needs https"},
		{"https://host", "s3cret\nX: y", "more than one line"},
		{"http://localhost:1/v1?a=b", "s3cret", ""},
		{"http://[::1]:1", "s3cret", ""},
		{"https://host", "s3cret", ""},
		{"http://host", "", ""},
	} {
		u, err := httpclient.Endpoint(c.url, c.key)
		switch {
		case c.want == "" && (err != nil || u.String() != c.url):
			t.Errorf("%q: %v, %v", c.url, u, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%q: %v, want %q", c.url, err, c.want)
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	errBusy, errNo := errors.New("busy"), errors.New("no")
	for name, c := range map[string]struct {
		errs  []error       // of the tries; the last one stays
		after time.Duration // that each asks for
		until time.Duration // the deadline; 0: none
		tries int
		took  time.Duration
		want  error
	}{
		"at once":        {errs: []error{nil}, tries: 1},
		"in the end":     {errs: []error{errBusy, errBusy, nil}, tries: 3, took: 3 * time.Second},
		"never":          {errs: []error{errBusy}, tries: 7, took: (1 + 2 + 4 + 8 + 10 + 10) * time.Second, want: errBusy},
		"refused":        {errs: []error{errBusy, errNo}, tries: 2, took: time.Second, want: errNo},
		"as it says":     {errs: []error{errBusy, nil}, after: time.Minute, tries: 2, took: time.Minute},
		"it is too late": {errs: []error{errBusy}, after: time.Minute, until: time.Second, tries: 1, want: errBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if c.until > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.until)
				}
				defer cancel()
				tries, begun := 0, time.Now()
				err := httpclient.Retry{Max: 6, Pause: time.Second, Random: func() float64 { return 1 }}.Do(ctx, func() error {
					tries++
					return c.errs[min(tries, len(c.errs))-1]
				}, func(err error) (time.Duration, bool) { return c.after, err == errBusy })
				if took := time.Since(begun); !errors.Is(err, c.want) || tries != c.tries || took != c.took {
					t.Errorf("%d tries in %v: %v", tries, took, err)
				}
			})
		})
	}
}

// A wait ends with the caller's context.
func TestRetryIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		errBusy, tries := errors.New("busy"), 0
		time.AfterFunc(time.Second, cancel)
		err := httpclient.Retry{Max: 6, Pause: time.Hour}.Do(ctx, func() error { tries++; return errBusy },
			func(error) (time.Duration, bool) { return 0, true })
		if !errors.Is(err, errBusy) || tries != 1 {
			t.Errorf("%d tries: %v", tries, err)
		}
	})
}
