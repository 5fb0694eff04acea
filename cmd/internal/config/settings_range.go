package config

import (
	"fmt"
	"strconv"

	"github.com/alecthomas/kong"
)

// CheckRanges refuses a number outside what the tags min and max of its field say, both
// included; what is not given at all, as an empty text, is in any range. given reports
// whether a flag is on the command line: what is wrong is named as it was written.
func CheckRanges(flags []*kong.Flag, given func(flag string) bool) error {
	for _, f := range flags {
		if !f.Tag.Has("min") {
			continue
		}
		text := fmt.Sprint(f.Target.Interface())
		if text == "" {
			continue
		}
		written := "--" + f.Name
		if len(f.Envs) > 0 && !given(f.Name) {
			written = Named(f)
		}
		least := f.Tag.Get("min")
		most := f.Tag.Get("max")
		ok, err := InRange(text, least, most)
		switch {
		case err != nil:
			return Usagef("%s=%s: it is not a number", written, text)
		case !ok:
			return Usagef("%s=%s: it must be from %s to %s", written, text, least, most)
		}
	}
	return nil
}

// InRange reports whether a number is from least to most.
func InRange(number, least, most string) (bool, error) {
	var v [3]float64
	for i, text := range []string{number, least, most} {
		var err error
		if v[i], err = strconv.ParseFloat(text, 64); err != nil {
			return false, err
		}
	}
	return v[0] >= v[1] && v[0] <= v[2], nil // NaN is neither
}
