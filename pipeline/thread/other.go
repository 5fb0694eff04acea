//go:build !linux

package thread

// Stay does nothing here.
func Stay() (release func()) { return func() {} }

// Batch does nothing here.
func Batch() {}
