// Package testenv starts the real servers that tests need, on loopback, and stops them.
//
// A test asks for a server by a function of its name, such as [Postgres], and is given a
// place of its own in it: nothing that another test wrote is there. The packages of one
// "go test" share a server. It ends by itself some seconds after the last process that
// used it, however that ended.
//
// What a machine does not have is skipped with a reason; see package parts.
package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

var givenPorts sync.Map

// FreePort returns a port of 127.0.0.1 that nobody listens on, each time another one. It is
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

// lastLines returns the end of a log.
func lastLines(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}
