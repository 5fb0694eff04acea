package command

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
)

// Completion is satchel completion.
type Completion struct {
	Bash  completionScriptCmd `cmd:"" help:"Print the script for bash."`
	Zsh   completionScriptCmd `cmd:"" help:"Print the script for zsh."`
	Fish  completionScriptCmd `cmd:"" help:"Print the script for fish."`
	Words completionWordsCmd  `cmd:"" hidden:"" help:"Print what may stand in the place of the last word; the scripts call it."`
}

// scripts has a script for each shell. Where satchel offers no word, the shell offers files.
//
//go:embed completion
var scripts embed.FS

type completionScriptCmd struct{}

// Run prints the script of the shell that the command is called after.
func (completionScriptCmd) Run(k *kong.Context, a *app.App) error {
	script, err := scripts.ReadFile("completion/satchel." + k.Selected().Name)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(script)
	return err
}

type completionWordsCmd struct {
	Words []string `arg:"" optional:"" help:"The words after satchel, the one under the cursor last."`
}

// Run prints a word and what it does on each line.
func (c completionWordsCmd) Run(k *kong.Context, a *app.App) error {
	for _, one := range complete(k.Model.Node, c.Words) {
		fmt.Fprintf(a.Out, "%s\t%s\n", one.word, terminal.OneLine(one.help, 80))
	}
	return nil
}

// suggestion is a word that may stand under the cursor.
type suggestion struct{ word, help string }

// complete returns what may stand in the place of the last word: commands, flags, or the values of a flag or an
// argument that has a list of them. None where it may be anything.
func complete(at *kong.Node, words []string) []suggestion {
	current := ""
	if n := len(words); n > 0 {
		words, current = words[:n-1], words[n-1]
	}
	var flag *kong.Flag // whose value is next
	plain := false      // after --, nothing is a flag
	for _, word := range words {
		name, _, whole := strings.Cut(word, "=")
		switch {
		case word == "=" && flag != nil: // bash makes a word of it
		case flag != nil:
			flag = nil
		case word == "--":
			plain = true
		case strings.HasPrefix(word, "-") && !plain:
			flag = findFlag(at, name)
			if whole || flag != nil && (flag.IsBool() || flag.IsCounter()) {
				flag = nil
			}
		default:
			at = enter(at, word)
		}
	}
	switch name, value, whole := strings.Cut(current, "="); {
	case flag != nil:
		return values(flag.Value, "", strings.TrimPrefix(current, "="))
	case strings.HasPrefix(current, "-") && whole && !plain:
		flag = findFlag(at, name)
		if flag == nil {
			return nil
		}
		return values(flag.Value, name+"=", value)
	case strings.HasPrefix(current, "-") && !plain:
		return flags(at, current)
	}
	return commands(at, current)
}

// enter returns the command that a word names below another, or its default one, which takes the word.
func enter(at *kong.Node, word string) *kong.Node {
	for _, c := range at.Children {
		if c.Name == word || slices.Contains(c.Aliases, word) {
			return c
		}
	}
	if at.DefaultCmd != nil {
		return at.DefaultCmd
	}
	return at
}

// lineage are a command, its default one and those that it stands below.
func lineage(at *kong.Node) []*kong.Node {
	var list []*kong.Node
	if at.DefaultCmd != nil {
		list = append(list, at.DefaultCmd)
	}
	for ; at != nil; at = at.Parent {
		list = append(list, at)
	}
	return list
}

// findFlag returns the flag that a word like --limit or -t is at a command; nil for none.
func findFlag(at *kong.Node, word string) *kong.Flag {
	for _, node := range lineage(at) {
		for _, f := range node.Flags {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// flags are those that begin with prefix: before a letter is typed only those that the command's help shows.
func flags(at *kong.Node, prefix string) []suggestion {
	var list []suggestion
	if strings.HasPrefix("--help-all", prefix) { // read before the parser
		list = append(list, suggestion{"--help-all", "Show every setting."})
	}
	common := CommonSettings(at.Name)
	for _, node := range lineage(at) {
		for _, f := range node.Flags {
			word := "--" + f.Name
			rare := node.Parent == nil && !slices.Contains(common, f.Name)
			if !strings.HasPrefix(word, prefix) || rare && len(prefix) < len("--x") {
				continue
			}
			list = append(list, suggestion{word, f.Help})
		}
	}
	return list
}

// values are those of a list that begin with prefix; each is returned behind lead.
func values(v *kong.Value, lead, prefix string) []suggestion {
	var list []suggestion
	if v.Enum == "" {
		return nil
	}
	for _, value := range v.EnumSlice() {
		if value != "" && strings.HasPrefix(value, prefix) {
			list = append(list, suggestion{lead + value, ""})
		}
	}
	return list
}

// commands are those below a command that begin with prefix, and the values of its argument.
func commands(at *kong.Node, prefix string) []suggestion {
	var list []suggestion
	for _, c := range at.Children {
		if !c.Hidden && strings.HasPrefix(c.Name, prefix) {
			list = append(list, suggestion{c.Name, c.Help})
		}
	}
	for _, p := range at.Positional {
		list = append(list, values(p, "", prefix)...)
	}
	return list
}

// CommonSettings are the settings that the help of a command shows; the others are behind --help-all.
func CommonSettings(name string) []string {
	if slices.Contains([]string{"up", "worker", "config"}, name) {
		return []string{"help", "help-all", "dir", "log-level", "nats-url", "nats-port", "http-addr", "principals", "policy-bundle", "database-url", "embeddings-url", "llm-url"}
	}
	return []string{"help", "help-all", "dir", "tenant", "json", "nats-url", "nats-port", "creds", "nats-nkey", "nats-ca", "nats-cert", "nats-key", "http-addr"}
}
