package files_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"satchel/pipeline/infra/files"
)

func TestOneHolder(t *testing.T) {
	t.Parallel()
	dir, since := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	lock, err := files.TakeLock(dir, since)
	if err != nil {
		t.Fatal(err)
	}
	_, err = files.TakeLock(dir, time.Now())
	var held *files.HeldError
	if !errors.As(err, &held) || !errors.Is(err, files.ErrHeld) {
		t.Fatalf("a second holder: %v", err)
	}
	if held.Dir != dir || held.PID != os.Getpid() || !held.Since.Equal(since) {
		t.Errorf("the holder = %+v", held)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := files.TakeLock(dir, time.Now())
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}
