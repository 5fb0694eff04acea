package config

import (
	"fmt"
)

// UsageError says that a setting or an argument is wrong.
type UsageError struct{ Err error }

// Error says what was found or what is wrong.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{Err: fmt.Errorf(format, args...)} }
