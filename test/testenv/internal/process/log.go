// Package process runs servers for tests: one that the processes of a user share, and one that a
// test may stop and kill.
package process

import "os"

// LastLines returns the end of a log.
func LastLines(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}
