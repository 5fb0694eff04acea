package config

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// Variables returns the names of the variable of a flag, the one to use first. A variable is called SATCHEL_ and
// the flag's name in capitals; the older name of the setting, where it has one, works as well.
func Variables(flag, older string) []string {
	name := "SATCHEL_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "scs-"), "-", "_"))
	if older == "" || older == name {
		return []string{name}
	}
	return []string{name, older}
}

// Named returns how a flag that is not on the command line was set: the variable that has a value.
func Named(f *kong.Flag) string {
	for _, name := range f.Envs {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return f.Envs[0]
}

// CheckVariables refuses a setting whose two variables have different values. The error has no value: it may be a secret.
func (s *Settings) CheckVariables(getenv func(string) string) error {
	for _, one := range s.Effective() {
		name := getenv(one.Env)
		older := getenv(one.Older)
		if strings.HasPrefix(name, "tcp://") || strings.HasPrefix(older, "tcp://") { // Kubernetes names a service so
			continue
		}
		if one.Older != "" && name != "" && older != "" && name != older {
			return Usagef("%s and %s are two names of one setting and have different values: unset %s", one.Env, one.Older, one.Older)
		}
	}
	return nil
}
