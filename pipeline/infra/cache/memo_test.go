package cache_test

import (
	"strconv"
	"strings"
	"testing"

	"satchel/pipeline/infra/cache"
)

// Each text and variant is read once while it is remembered, and what is asked for stays.
func TestOf(t *testing.T) {
	t.Parallel()
	m, reads := cache.NewMemo[string](100*164), 0
	of := func(text string, variant uint8) {
		t.Helper()
		got := m.Of(text, variant, func() (string, int) {
			reads++
			return strings.ToUpper(text) + strconv.Itoa(int(variant)), 100
		})
		if want := strings.ToUpper(text) + strconv.Itoa(int(variant)); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	for range 2 {
		of("a", 0)
		of("a", 1)
		of("b", 0)
	}
	if reads != 3 {
		t.Errorf("%d texts were read, want 3", reads)
	}
	for i := range 1000 { // far more than there is room for
		of(strconv.Itoa(i), 0)
		of("a", 0)
	}
	if reads != 1003 {
		t.Errorf("%d texts were read, want 1003: what is asked for is kept", reads)
	}
	of("b", 0)
	of("999", 0)
	if reads != 1004 {
		t.Errorf("%d texts were read, want 1004: b is gone, the latest is not", reads)
	}
	m.Clear()
	of("a", 0)
	if reads != 1005 {
		t.Errorf("%d texts were read, want 1005 after clearing", reads)
	}
	m = nil
	m.Clear()
	of("a", 0)
	of("a", 0)
	if reads != 1007 {
		t.Errorf("%d texts were read, want 1007: none is remembered", reads)
	}
}
