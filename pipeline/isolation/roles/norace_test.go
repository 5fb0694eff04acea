//go:build !race

package roles_test

// concurrentRuns is how many runs TestConcurrentRuns makes at a time.
const concurrentRuns = 1000
