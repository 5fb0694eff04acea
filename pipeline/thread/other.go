//go:build !linux

package thread

// Seat is where threads stay.
type Seat struct{}

// Stay does nothing here.
func (*Seat) Stay() (release func()) { return func() {} }

// Batch does nothing here.
func Batch() {}
