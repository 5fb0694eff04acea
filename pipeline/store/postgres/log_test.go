package postgres_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/postgres"
	"satchel/test/conformance/eventlogtest"
	"satchel/test/testenv/postgrestest"
)

func TestLogConformance(t *testing.T) {
	t.Parallel()
	conform(t, postgrestest.Open(t))
}

// TestConformanceBehindAPooler passes the suite through a pgbouncer that keeps a session for each connection.
func TestConformanceBehindAPooler(t *testing.T) {
	t.Parallel()
	conform(t, postgrestest.Bouncer(t, postgrestest.Open(t), "session"))
}

func conform(t *testing.T, url string) {
	eventlogtest.Run(t, func(t *testing.T) eventlog.Driver {
		db, err := postgres.OpenLog(t.Context(), postgres.LogConfig{URL: url, Schema: "log_" + strings.ToLower(rand.Text()), MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}
