// Package kiln fires clay by a program.
package kiln

import (
	"errors"
	"time"
)

// MaxDegrees is the temperature at which the elements are switched off whatever the program says.
const MaxDegrees = 1300

// Step is a part of a program: up or down to a temperature, at most so fast.
type Step struct {
	Degrees int
	PerHour int           // degrees an hour; 0: as fast as the elements can
	Hold    time.Duration // how long the temperature is kept
}

// ErrTooHot says that a program goes beyond MaxDegrees.
var ErrTooHot = errors.New("program is too hot")

// Validate refuses a program that no kiln survives.
func Validate(steps []Step) error {
	for _, s := range steps {
		if s.Degrees > MaxDegrees {
			return ErrTooHot
		}
	}
	return nil
}

// Resume returns the step to go on with after a power cut, and false where the ware has cooled by 50 degrees or more.
func Resume(steps []Step, before, now int) (Step, bool) {
	if before-now >= 50 {
		return Step{}, false
	}
	for _, s := range steps {
		if s.Degrees >= now {
			return s, true
		}
	}
	return Step{}, false
}
