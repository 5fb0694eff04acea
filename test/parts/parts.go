// Package parts says which parts of a test run are wanted: what a machine lacks, or what takes long, is skipped with a
// reason, so "go test ./..." needs nothing but Go and a few minutes. SATCHEL_TEST_REQUIRE lists, separated by commas, what
// must not be skipped: then the reason is a failure, and with "long" in it the tests that take long run.
package parts

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// RequireVar names the environment variable that lists the parts that must run.
const RequireVar = "SATCHEL_TEST_REQUIRE"

// Required reports whether part must not be skipped.
func Required(part string) bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv(RequireVar), func(r rune) bool { return r == ',' || r == ' ' }), part)
}

// Missing skips the test because part is not to be had, for a reason of one line. It
// fails the test instead when part is required.
func Missing(t testing.TB, part, reason string) {
	t.Helper()
	if Required(part) {
		t.Fatalf("%s is required by %s: %s", part, RequireVar, reason)
	}
	t.Skipf("without %s: %s", part, reason)
}

// Long skips the test, as it takes many seconds and a smaller one of its kind is there, unless long tests are required.
func Long(t testing.TB) {
	t.Helper()
	if !Required("long") {
		t.Skip("takes long: make long runs it")
	}
}
