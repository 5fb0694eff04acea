//go:build race

package roles_test

// concurrentRuns is fewer under the race detector, which takes ten times as long.
// SATCHEL_TEST_RUNS names another number.
const concurrentRuns = 200
