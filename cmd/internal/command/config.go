package command

import (
	"fmt"
	"io"

	"satchel/cmd/internal/app"
)

// Config is satchel config.
type Config struct{}

// Run prints the effective settings.
func (Config) Run(a *app.App) error {
	if _, err := a.Rankings(); err != nil {
		return err
	}
	if _, err := a.Zone(); err != nil {
		return err
	}
	printWarnings(a, a.SettingWarnings())
	list := a.Effective()
	return PrintTable(a, list, func(w io.Writer) {
		for _, s := range list {
			fmt.Fprintf(w, "--%s\t%s\t%s\t%s\n", s.Name, s.Env, s.Value, s.Help)
		}
	})
}
