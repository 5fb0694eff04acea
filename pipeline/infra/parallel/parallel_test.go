package parallel_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"satchel/pipeline/infra/parallel"
)

// f runs once, whether its goroutine begins before join or not, and its error is join's each
// time.
func TestRunsOnce(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			join := parallel.Start(func() error { runs++; return failed })
			if first {
				synctest.Wait()
			}
			if err := join(); runs != 1 || !errors.Is(err, failed) {
				t.Errorf("it ran %d times: %v", runs, err)
			}
			synctest.Wait()
			if err := join(); runs != 1 || !errors.Is(err, failed) {
				t.Errorf("it ran %d times: %v", runs, err)
			}
		})
	}
}

// A panic does not end the process, whoever runs f, and its text, which may be anything, is
// not in the error.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var into map[string]int
			join := parallel.Start(func() error { into["a secret"] = 1; return nil })
			if first {
				synctest.Wait()
			}
			for range 2 {
				var p *parallel.Panic
				if err := join(); !errors.As(err, &p) || !strings.Contains(p.Stack, "TestPanicIsAnError") || strings.Contains(p.Error()+p.Stack, "secret") {
					t.Errorf("error %+v", err)
				}
			}
		})
	}
}
