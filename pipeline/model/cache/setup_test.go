package cache_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func bytesOf(x float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)) }

// foundIn reports whether any file in dir holds part.
func foundIn(t *testing.T, dir string, part []byte) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, part) {
			return true
		}
	}
	return false
}
