package main

import (
	"os"
	"regexp"
	"strings"
)

// unknownSettings says of every variable of environ that is meant for Satchel and that it
// does not read what is wrong: of those whose names begin as its own do, and of others that
// are nearly one which is not set. An empty one is no setting of anybody's, and what
// Kubernetes tells pods of a service named satchel, and what the tests read, is not meant.
func (s *Settings) unknownSettings(environ []string) []string {
	set, known := map[string]string{}, map[string]bool{"SATCHEL_FAILPOINT": true}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" {
			set[name] = value
		}
	}
	settings := s.effective()
	for _, s := range settings {
		known[s.Env] = true
	}
	var said []string
	for _, name := range sortedKeys(set) {
		if known[name] || strings.HasPrefix(set[name], "tcp://") && strings.HasSuffix(name, "_PORT") || regexp.MustCompile(
			`_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT_\d+_[A-Z]+(_\w+)?$|^SATCHEL_(TEST|BENCH|BESIDE|CRASH|EVAL|GOLDEN|PACK_REQUESTS)(_|$)`).MatchString(name) {
			continue
		}
		own := regexp.MustCompile("^(SATCHEL|SCS|H4R|CONTEXT_PACK)_").FindString(name)
		meant := nearest(name, own, settings)
		switch {
		case own != "" && meant != "":
			said = append(said, name+" is no setting; did you mean "+meant+"?")
		case own != "":
			said = append(said, name+" is no setting; satchel config prints those there are")
		case meant != "" && set[meant] == "":
			said = append(said, name+" is no setting; did you mean "+meant+"?")
		}
	}
	return said
}

// nearest is the variable of the setting that a name which begins with own is most likely to
// be meant for; "" where none is near. After the beginning, the name of a flag will do.
func nearest(name, own string, settings []setting) string {
	rest := strings.TrimPrefix(name, own)
	most := 1 // or, of a name with that beginning, more where more follows
	switch {
	case own != "":
		most = min(3, (len(rest)+2)/4)
	case len(name) >= 12:
		most = 2
	}
	best := ""
	for _, s := range settings {
		if s.Env == "" {
			continue
		}
		if own != "" && (rest == s.Env || rest == strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))) {
			return s.Env
		}
		if d := distance(name, s.Env); d <= most {
			best, most = s.Env, d-1
		}
	}
	return best
}

// distance is how many letters are to be put in, taken out, changed or swapped with the next
// one to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// settingWarnings says what the settings are unlikely to be meant to say.
func (a *app) settingWarnings() []string {
	said := a.unknownSettings(os.Environ())
	if keys, err := a.signingKeys(); err == nil && a.Signed && len(keys) == 0 {
		said = append(said, keyless)
	}
	return said
}

// checkSettings says whether every variable that is meant for Satchel is one it reads.
func (a *app) checkSettings() finding {
	if said := a.unknownSettings(os.Environ()); len(said) > 0 {
		return finding{Check: "settings", Detail: strings.Join(said, "; ")}
	}
	return finding{Check: "settings", OK: true, Detail: "no variable of the environment looks like a misspelt one"}
}
