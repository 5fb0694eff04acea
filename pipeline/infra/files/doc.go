// Package files replaces files as a whole and keeps a folder for one process at a time.
//
// It promises that a reader sees the file before or the file after, whatever dies in between, and that
// who finds a folder taken is told who has it.
package files
