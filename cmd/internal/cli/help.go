package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/command"
)

// Explain gives commands the longer help that a text has of them, each below a line as "## policy test". It fails where
// there is no such command.
func Explain(text string) kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		sections := strings.Split(text, "\n## ")
		for _, section := range sections[1:] {
			name, help, _ := strings.Cut(section, "\n")
			node := k.Model.Node
			for word := range strings.FieldsSeq(name) {
				i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
				if i < 0 {
					return fmt.Errorf("help of %q: there is no such command", name)
				}
				node = node.Children[i]
			}
			node.Detail = strings.TrimSpace(help)
		}
		return nil
	})
}

// printHelp returns kong's help with the settings that matter for the command; all has every setting. The first
// help lists the common commands on a line each, so that it fits a screen.
func (p *Program) printHelp(all bool) kong.HelpPrinter {
	return func(options kong.HelpOptions, ctx *kong.Context) error {
		at := ctx.Selected()
		switch {
		case all:
			return kong.DefaultHelpPrinter(options, ctx)
		case at == nil:
			return p.printCommands(ctx)
		}
		shown := command.CommonSettings(at.Name)
		for _, f := range ctx.Model.Flags {
			f.Hidden = !slices.Contains(shown, f.Name) && !(at.Name == "doctor" && strings.HasPrefix(f.Name, "nats-"))
			f.Tag.Envs = f.Tag.Envs[:min(1, len(f.Tag.Envs))]
			f.Help, _, _ = strings.Cut(f.Help, ";")
			f.Help, _, _ = strings.Cut(f.Help, ", as ")
		}
		if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(ctx.Stdout, "\nAll settings: %s --help-all; with their values: satchel config.\n", at.FullPath())
		return err
	}
}

// printCommands prints the common commands with what they do, and the names of the others.
func (p *Program) printCommands(ctx *kong.Context) error {
	var others []string
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s <command> [flags]\n\n%s\n\nCommands:\n", p.Name, p.Description)
	for _, c := range ctx.Model.Children {
		switch {
		case c.Hidden:
		case len(p.Common) == 0 || slices.Contains(p.Common, c.Name):
			fmt.Fprintf(&b, "  %-10s %s\n", c.Name, c.Help)
		default:
			others = append(others, c.Name)
		}
	}
	if len(others) > 0 {
		b.WriteString("\nOther commands:\n")
	}
	for line := range slices.Chunk(others, 7) {
		fmt.Fprintf(&b, "  %s\n", strings.Join(line, ", "))
	}
	if p.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", p.Note)
	}
	fmt.Fprintf(&b, "\n%[1]s <command> --help has examples and flags. %[1]s --help-all has every\ncommand and setting, and satchel config their values.\n", p.Name)
	_, err := fmt.Fprint(ctx.Stdout, b.String())
	return err
}
