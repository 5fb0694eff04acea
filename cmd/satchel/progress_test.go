package main

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
		a := &app{err: &out}
		quick := a.bar("counting")
		quick.set(4, 4)
		quick.end()
		if out.Len() > 0 {
			t.Errorf("something quick printed %q", out.String())
		}
		slow := a.bar("counting")
		slow.set(1, 10)
		<-time.After(2 * time.Second)
		slow.set(5, 10)
		slow.set(5, 10)
		slow.set(10, 10)
		slow.end()
		if want := "counting: 50 %, 5 of 10\ncounting: 100 %, 10 of 10\n"; out.String() != want {
			t.Errorf("something slow printed %q, want %q", out.String(), want)
		}
	})
}
