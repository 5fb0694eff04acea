package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// checkRanges refuses a number outside what the tags min and max of its field say, both
// included; what is not given at all, as an empty text, is in any range. given reports
// whether a flag is on the command line: what is wrong is named as it was written.
func checkRanges(flags []*kong.Flag, given func(flag string) bool) error {
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
			written = f.Envs[0]
		}
		least, most := f.Tag.Get("min"), f.Tag.Get("max")
		ok, err := inRange(text, least, most)
		switch {
		case err != nil:
			return usagef("%s=%s: it is not a number", written, text)
		case !ok:
			return usagef("%s=%s: it must be from %s to %s", written, text, least, most)
		}
	}
	return nil
}

// printMisused says what the parser refused, under the name it was given by, and where help is.
func printMisused(w io.Writer, err error) {
	text, command := err.Error(), "satchel"
	var refused *kong.ParseError
	if errors.As(err, &refused) {
		given := func(f *kong.Flag) bool {
			return slices.ContainsFunc(refused.Context.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == f.Name })
		}
		for _, f := range refused.Context.Flags() {
			if rest, ok := strings.CutPrefix(text, f.ShortSummary()+" must be one of"); ok && len(f.Envs) > 0 && !given(f) {
				text = f.Envs[0] + " must be one of" + rest
			}
		}
		if at := refused.Context.Selected(); at != nil {
			command = at.FullPath()
		}
	}
	fmt.Fprintf(w, "satchel: %s\nTry %s --help.\n", text, command)
}

// inRange reports whether a number is from least to most.
func inRange(number, least, most string) (bool, error) {
	var v [3]float64
	for i, text := range []string{number, least, most} {
		var err error
		if v[i], err = strconv.ParseFloat(text, 64); err != nil {
			return false, err
		}
	}
	return v[0] >= v[1] && v[0] <= v[2], nil // NaN is neither
}
