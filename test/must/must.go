// Package must ends a test where a call fails that must not, for what is built of many calls:
// conformance suites and the servers of tests.
package must

// T is a test.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Get takes what a call returned, and returns a function that gives the value to a test or ends the
// test with the error.
func Get[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Do ends the test with an error.
func Do(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
