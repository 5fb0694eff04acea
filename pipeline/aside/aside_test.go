package aside_test

import (
	"testing"
	"testing/synctest"

	"satchel/pipeline/aside"
)

// f runs once, whether its goroutine begins before join or not.
func TestRunsOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			join := aside.Do(func() { runs++ })
			if first {
				synctest.Wait()
			}
			if join(); runs != 1 {
				t.Errorf("it ran %d times", runs)
			}
			synctest.Wait()
			if runs != 1 {
				t.Errorf("it ran %d times", runs)
			}
		})
	}
}

func TestJoinPanics(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			join := aside.Do(func() { panic("a bug") })
			if first {
				synctest.Wait()
			}
			defer func() {
				if cause := recover(); cause != "a bug" {
					t.Errorf("it panicked with %v", cause)
				}
			}()
			join()
		})
	}
}
