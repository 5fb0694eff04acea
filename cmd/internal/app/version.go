package app

import (
	"cmp"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/semver"
)

// The linker sets these for a release (make release). Nothing else writes them.
var releaseVersion, releaseRevision string

// Version is the version of the program, "(devel)" where it was built from a working tree.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(releaseVersion, info.Main.Version)
	}
	return cmp.Or(releaseVersion, "(devel)")
}

// Revision is the commit that the program was built from, "" where no one knows.
func Revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return cmp.Or(releaseRevision, s.Value)
			}
		}
	}
	return releaseRevision
}

// serviceVersion is the module's version as NATS's services API wants it, "" where there is none.
func serviceVersion() string {
	if v := Version(); semver.IsValid(v) {
		return strings.TrimPrefix(v, "v")
	}
	return ""
}
