//go:build race

package testenv

// Raced says that the race detector is on, under which everything takes ten times as long.
const Raced = true
