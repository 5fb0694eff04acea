//go:build noencoder

package encoder

import (
	"errors"
	"testing"
)

func TestOpenWithoutAModel(t *testing.T) {
	t.Parallel()
	if e, err := Open(Config{}); !errors.Is(err, ErrNotIncluded) || e != nil {
		t.Errorf("Open = %v, %v, want ErrNotIncluded", e, err)
	}
}
