package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// UnknownSettings says of every variable of environ that is meant for Satchel and that it
// does not read what is wrong: of those whose names begin as its own do, and of others that
// are nearly one which is not set. An empty one is no setting of anybody's, and what
// Kubernetes tells pods of a service named satchel, and what the tests read, is not meant.
func (s *Settings) UnknownSettings(environ []string) []string {
	set := map[string]string{}
	known := map[string]bool{"SATCHEL_FAILPOINT": true, "SATCHEL_AS": true, "SATCHEL_TOKEN": true}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" {
			set[name] = value
		}
	}
	settings := s.Effective()
	for _, s := range settings {
		known[s.Env] = true
		known[s.Older] = true
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
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
func nearest(name, own string, settings []Setting) string {
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
		if own != "" && (rest == s.Env || rest == s.Older || rest == strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))) {
			return s.Env
		}
		for _, known := range []string{s.Env, s.Older} {
			if d := Distance(name, known); known != "" && d <= most {
				best = known
				most = d - 1
			}
		}
	}
	return best
}

// Distance is how many letters are to be put in, taken out, changed or swapped with the next
// one to make b of a.
func Distance(a, b string) int {
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
