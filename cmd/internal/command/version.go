package command

import (
	"fmt"
	"runtime/debug"

	"satchel/cmd/internal/app"
)

// Version is satchel version.
type Version struct{}

// Help shows how it is called.
func (Version) Help() string { return "Example:\n  satchel version --json" }

// Run prints the module version and what it was built from.
func (Version) Run(a *app.App) error {
	v := map[string]string{"version": app.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		v["go"] = info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v["revision"] = s.Value
			}
		}
	}
	if a.JSON {
		return PrintJSON(a, v)
	}
	fmt.Fprintf(a.Out, "satchel %s %s %s\n", v["version"], v["revision"], v["go"])
	return nil
}
