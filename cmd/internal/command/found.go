package command

import "errors"

// FoundError says that a check ran and found something; it was printed already.
type FoundError struct{ What string }

// Error says what was found or what is wrong.
func (e *FoundError) Error() string { return e.What }

// ErrEmpty says that nothing was found, where the command line has that fail.
var ErrEmpty = errors.New("nothing was found")

// EmptyFlag is a flag of the commands that look for something.
type EmptyFlag struct {
	FailEmpty bool `help:"Exit with code 5 when nothing is found that the principal may see."`
}

// check returns ErrEmpty when nothing was found and the flag is set.
func (f *EmptyFlag) check(found int) error {
	if f.FailEmpty && found == 0 {
		return ErrEmpty
	}
	return nil
}
