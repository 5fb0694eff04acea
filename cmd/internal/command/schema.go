package command

import (
	"fmt"
	"io"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/schemas"
)

// Schema is satchel schema.
type Schema struct {
	Name string `arg:"" optional:"" help:"Schema to print; without one their names are listed. asyncapi prints the AsyncAPI document."`
}

// Run prints one schema, or the names.
func (c Schema) Run(a *app.App) error {
	switch c.Name {
	case "":
		names := append(schemas.Names(), "asyncapi")
		return PrintReply(a, names, func(w io.Writer) { fmt.Fprintln(w, strings.Join(names, "\n")) })
	case "asyncapi":
		_, err := a.Out.Write(schemas.AsyncAPI())
		return err
	}
	doc, err := schemas.JSONSchema(c.Name)
	if err != nil {
		return config.Usagef("no schema is called %q; satchel schema lists them", c.Name)
	}
	_, err = a.Out.Write(doc)
	return err
}
