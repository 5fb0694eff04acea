package worker_test

import (
	"testing"

	"satchel/worker"
)

func TestNewRefusesAHalfConfig(t *testing.T) {
	t.Parallel()
	if _, err := worker.New(worker.Config{}); err == nil {
		t.Error("an empty config is taken")
	}
}
