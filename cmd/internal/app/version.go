package app

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/semver"
)

// Version is the version of the program, "(devel)" where it was built from a working tree.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "(devel)"
}

// serviceVersion is the module's version as NATS's services API wants it, "" where there is none.
func serviceVersion() string {
	if v := Version(); semver.IsValid(v) {
		return strings.TrimPrefix(v, "v")
	}
	return ""
}
