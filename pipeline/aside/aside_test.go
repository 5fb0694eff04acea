package aside_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"satchel/pipeline/aside"
)

// f runs once, whether its goroutine begins before join or not, and its error is join's each
// time.
func TestRunsOnce(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			join := aside.Do(func() error { runs++; return failed })
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

// A panic is join's, each time, whoever ran f, and its text, which may be anything, is not in
// it; that of what f itself had aside is passed on.
func TestPanicIsOfJoin(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		for _, nested := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var into map[string]int
				f := func() error { into["a secret"] = 1; return nil }
				if inner := f; nested {
					f = func() error { return aside.Do(inner)() }
				}
				join := aside.Do(f)
				if first {
					synctest.Wait()
				}
				for range 2 {
					func() {
						defer func() {
							p, ok := recover().(*aside.Panic)
							if !ok || !strings.HasPrefix(p.Error(), "panicked aside with a runtime.") {
								t.Fatalf("%v", p)
							}
							if !strings.Contains(p.Trace(), "TestPanicIsOfJoin") || strings.Contains(p.Trace(), "secret") {
								t.Errorf("trace %s", p.Trace())
							}
						}()
						_ = join()
					}()
				}
			})
		}
	}
}
