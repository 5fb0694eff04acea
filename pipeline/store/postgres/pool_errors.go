package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// ErrorClass is what an error means to a driver.
type ErrorClass int

// The classes.
const (
	Other       ErrorClass = iota
	Canceled               // the caller gave up
	Closed                 // the pool was closed
	Retry                  // a transaction lost against another: run it again
	Unreachable            // the server is away or does not answer; what was under way may have been committed
	Full                   // the server's disk is full
	Damaged                // the server found damage in its files
)

// Classify returns an error's class.
func Classify(err error) ErrorClass {
	if errors.Is(err, puddle.ErrClosedPool) {
		return Closed
	}
	if errors.Is(err, context.Canceled) {
		return Canceled
	}
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		if isNetworkError(err) {
			return Unreachable
		}
		return Other
	}
	switch {
	case server.Code == "40001", server.Code == "40P01":
		return Retry
	case server.Code == "53100":
		return Full
	case server.Code == "XX001", server.Code == "XX002":
		return Damaged
	case server.Code == "57P01", server.Code == "57P02", server.Code == "57P03", server.Code == "57P05",
		server.Code == "53300", server.Code == "25006", server.Code == "25P03", strings.HasPrefix(server.Code, "08"):
		return Unreachable
	}
	return Other
}

// isSessionUseless reports whether a session that answered so is of no more use: it was ended, or goes on to take no writes when its
// server has long done so again.
func isSessionUseless(e *pgconn.PgError) bool {
	return e.SeverityUnlocalized == "FATAL" || e.Code == "25006" || strings.HasPrefix(e.Code, "57P")
}

// isNetworkError reports whether an error came from the connection and not from our own code.
func isNetworkError(err error) bool {
	var connect *pgconn.ConnectError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &connect), errors.As(err, &timeout), pgconn.Timeout(err), pgconn.SafeToRetry(err):
		return true
	case errors.Is(err, context.DeadlineExceeded):
		return true
	}
	text := err.Error()
	for _, part := range []string{"unexpected EOF", "conn closed", "connection reset", "broken pipe", "closed network connection", "failed to write", "failed to receive"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// CleanError returns err without what a server's message may quote of a row: only the
// severity, the code and, where it cannot hold a value, the message are kept.
func CleanError(err error) error {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return err
	}
	if strings.HasPrefix(server.Code, "22") || strings.HasPrefix(server.Code, "23") {
		return fmt.Errorf("postgres refused the data (SQLSTATE %s)", server.Code)
	}
	return &pgconn.PgError{Severity: server.Severity, Code: server.Code, Message: server.Message}
}
