//go:build !(linux || darwin || freebsd)

package app

import "math"

// freeBytes is unknown on this system.
func freeBytes(string) (float64, error) { return math.NaN(), nil }
