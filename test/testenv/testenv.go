// Package testenv helps tests that use real servers on loopback: free ports, certificates, a
// connection that a test may break, and satchel up itself.
//
// Each server has a package below this one, so that a test binary links only the servers that it
// uses. Open gives a test a place of its own in a server: nothing that another test wrote is there.
// The packages of one "go test" share that server. It ends by itself some seconds after the last
// process that used it. Start starts a server that one test may stop and kill.
//
// A test skips with a reason where the machine does not have a server; see package parts.
package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

var givenPorts sync.Map

// FreePort returns a port of 127.0.0.1 that no one listens on, each time another one. It is
// below those that a system gives to outgoing connections: none of them takes it while a
// server that listens there is down.
func FreePort() (int, error) {
	var failed error
	for range 100 {
		port := 10000 + rand.IntN(22000)
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		err := tryPort(port)
		if err == nil {
			return port, nil
		}
		failed = errors.Join(failed, fmt.Errorf("port %d: %w", port, err))
	}
	return 0, fmt.Errorf("no free port: %w", failed)
}

// TooLongRaced skips a test of much computing and little concurrency under the race detector,
// which takes ten times as long. The same test runs without it.
func TooLongRaced(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("computes for minutes under the race detector")
	}
}
