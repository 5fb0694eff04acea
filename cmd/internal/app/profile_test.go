package app

import (
	"net/http"
	"strings"
	"testing"

	"satchel/cmd/internal/config"
)

// The profiler listens on loopback only, and answers no host name that a web page could have.
func TestProfilesOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0"} {
		a := &App{Settings: &config.Settings{PProf: address}}
		if _, err := a.serveProfiles(); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v", address, err)
		}
	}
	a := &App{Settings: &config.Settings{PProf: "127.0.0.1:0"}}
	web, err := a.serveProfiles()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"": http.StatusOK, "evil.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+web.addr+"/debug/pprof/allocs?debug=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != want {
			t.Errorf("host %q: %d, %v, want %d", host, res.StatusCode, err, want)
		}
	}
	if err := web.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
