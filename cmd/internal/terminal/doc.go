// Package terminal writes for people: text without control characters, a bar of progress, and a pipe that notices
// when its reader is gone.
package terminal
