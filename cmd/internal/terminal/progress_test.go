package terminal

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsForWhatTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		quick := NewProgressBar(&out, "counting")
		quick.Set(4, 4)
		quick.End()
		if out.Len() > 0 {
			t.Errorf("something quick printed %q", out.String())
		}
		slow := NewProgressBar(&out, "counting")
		slow.Set(1, 10)
		<-time.After(2 * time.Second)
		slow.Set(5, 10)
		slow.Set(5, 10)
		slow.Set(10, 10)
		slow.End()
		if want := "counting: 50 %, 5 of 10\ncounting: 100 %, 10 of 10\n"; out.String() != want {
			t.Errorf("something slow printed %q, want %q", out.String(), want)
		}
	})
}
