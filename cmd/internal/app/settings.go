package app

import (
	"os"
	"strings"
)

// SettingWarnings says what the settings are unlikely to be meant to say.
func (a *App) SettingWarnings() []string {
	said := a.UnknownSettings(os.Environ())
	if keys, err := a.signingKeys(); err == nil && a.Signed && len(keys) == 0 {
		said = append(said, Keyless)
	}
	return said
}

// CheckSettings says whether every variable that is meant for Satchel is one it reads.
func (a *App) CheckSettings() Finding {
	if said := a.UnknownSettings(os.Environ()); len(said) > 0 {
		return Finding{Check: "settings", Detail: strings.Join(said, "; ")}
	}
	return Finding{Check: "settings", OK: true, Detail: "no variable of the environment looks like a misspelt one"}
}
