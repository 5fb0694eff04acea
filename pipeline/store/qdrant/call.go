package qdrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	client "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The waits between tries double from first to longest.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// callWithTries makes up to tries requests until the server has answered one.
func (x *Index) callWithTries(ctx context.Context, tries int, request func(ctx context.Context) error) error {
	wait := firstWait
	for n := 1; ; n++ {
		try, cancel := context.WithTimeout(ctx, x.cfg.Timeout)
		err := request(try)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if n >= tries || !canRetry(err) {
			return serverError{err}
		}
		var busy *client.QdrantResourceExhaustedError
		if errors.As(err, &busy) {
			wait = max(wait, time.Duration(busy.RetryAfterS)*time.Second)
		}
		if err := pauseUnlessDone(ctx, min(wait, longestWait)); err != nil {
			return err
		}
		wait *= 2
	}
}

// callForWrite is a call that is repeated, read one that is repeated once: who asks has no time.
func (x *Index) callForWrite(ctx context.Context, request func(ctx context.Context) error) error {
	return x.callWithTries(ctx, x.cfg.Tries, request)
}

func (x *Index) callForRead(ctx context.Context, request func(ctx context.Context) error) error {
	return x.callWithTries(ctx, min(2, x.cfg.Tries), request)
}

// canRetry reports whether another try may succeed.
func canRetry(err error) bool {
	var busy *client.QdrantResourceExhaustedError
	if errors.As(err, &busy) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch findErrorCode(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded:
		return true
	}
	return false
}

// findErrorCode returns the gRPC code of an error.
func findErrorCode(err error) codes.Code {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Code()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	return codes.Unknown
}

// messageOf is what a server says with an error's code.
func messageOf(err error) string {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Code().String() + ": " + s.GRPCStatus().Message()
	}
	return err.Error()
}

// serverError is an error of the server without its text, which may quote what is stored.
type serverError struct{ err error }

func (e serverError) Error() string { return fmt.Sprintf("Qdrant answers %s", findErrorCode(e.err)) }
func (e serverError) Unwrap() error { return e.err }

func pauseUnlessDone(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
