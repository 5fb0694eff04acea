package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"satchel/cmd/internal/config"
	"satchel/test/parts"
	"satchel/test/testenv"
)

// TestEveryNumberHasARange holds for each setting that is a number: what is outside its
// range is refused by name before anything starts, and 0 is in it only where the documents
// say what it means.
func TestEveryNumberHasARange(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	testenv.TooLongRaced(t)
	docs, seen := read(t, "docs/reference/settings.md"), 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Settings]()) {
		tag := field.Tag
		least, most := tag.Get("min"), tag.Get("max")
		switch field.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
		default:
			if least == "" {
				continue
			}
		}
		seen++
		if ok, err := config.InRange(tag.Get("default"), least, most); tag.Get("default") != "" && (!ok || err != nil) {
			t.Errorf("%s: its default %q is not from %q to %q (%v)", field.Name, tag.Get("default"), least, most, err)
		}
		name := tag.Get("name")
		if name == "" {
			name = config.Kebab(field.Name)
		}
		flag := "--" + name
		variable := config.Variables(name, tag.Get("env"))[0]
		row := regexp.MustCompile("(?m)^\\| `" + variable + "` .*$").FindString(docs)
		if field.Type.Kind() == reflect.Int && least == "0" && !regexp.MustCompile(`\b0: |\b0 picks`).MatchString(row) {
			t.Errorf("docs/reference/settings.md does not say what %s=0 means: %q", variable, row)
		}
		bad := []string{"-1", most + "1"}
		if field.Type.Kind() != reflect.Int {
			bad = append(bad, "NaN")
		}
		if least != "0" {
			bad = append(bad, "0")
		}
		for _, value := range bad {
			r := satchel(t, "", "config", flag+"="+value)
			if r.code != exitUsage || r.out != "" {
				t.Errorf("%s=%s: exit code %d\n%s", flag, value, r.code, r.out)
			}
			contains(t, flag+"="+value, r.err, flag+"=", "must be from "+least+" to "+most)
		}
		for _, value := range []string{least, most} {
			if field.Name == "WeightRelevance" && value == "0" {
				continue // the profile has no other weight, so up refuses it, too
			}
			if r := satchel(t, "", "config", flag+"="+value); r.code != 0 {
				t.Errorf("%s=%s: exit code %d\n%s", flag, value, r.code, r.err)
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d settings are numbers", seen)
	}
}

// What is wrong is named as it was written.
func TestANumberOfTheEnvironmentIsNamed(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("SCS_MAX_ITEMS_DEFAULT", "-5")
	for _, cmd := range []string{"up", "config", "doctor"} {
		r := satchel(t, "", cmd, "--dir", t.TempDir())
		if r.code != exitUsage || r.out != "" || !strings.Contains(r.err, "SCS_MAX_ITEMS_DEFAULT=-5: it must be from 0 to ") {
			t.Errorf("%s: exit code %d\n%s%s", cmd, r.code, r.out, r.err)
		}
	}
	if r := satchel(t, "", "config", "--scs-max-items", "7"); r.code != 0 { // the flag wins
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if r := satchel(t, "", "config", "--scs-max-items", "7", "--rank-weight-recency", "0.9", "--rank-weight-trust", "0.457"); r.code != exitUsage || !strings.Contains(r.err, "sum to 1.357") {
		t.Errorf("config takes weights that up refuses: exit code %d\n%s", r.code, r.err)
	}
	t.Setenv("SCS_MAX_ITEMS_DEFAULT", "100")
	t.Setenv("H4R_WEIGHT_TRUST", "much")
	if r := satchel(t, "", "doctor", "--dir", t.TempDir()); r.code != exitUsage || !strings.Contains(r.err, "H4R_WEIGHT_TRUST=much: it is not a number") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// A choice is named as it was written as well, and help is that of the command.
func TestAChoiceOfTheEnvironmentIsNamed(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("COMPACTION", "Off")
	for want, args := range map[string][]string{
		"satchel: COMPACTION must be one of ":                                {"ask", "why?"},
		"satchel: --compaction must be one of ":                              {"ask", "why?", "--compaction", "often"},
		"Try satchel ask --help.":                                            {"ask", "why?"},
		"satchel: unknown flag --nosuch\nTry satchel policy explain --help.": {"policy", "explain", "--nosuch"},
		"Try satchel --help.":                                                {"nosuch"},
	} {
		if r := satchel(t, "", args...); r.code != exitUsage || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit code %d, %q is not in\n%s%s", args, r.code, want, r.out, r.err)
		}
	}
}

func TestCompactRefusesABudgetOfNothing(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--budget=-1", "--budget=0", "--lines=-1"} {
		if r := satchel(t, "some\nlines\n", "compact", "--file", "-", flag); r.code != exitUsage || !strings.Contains(r.err, flag+": it must be from 1 ") {
			t.Errorf("%s: exit code %d\n%s%s", flag, r.code, r.out, r.err)
		}
	}
}

// TestWhatNobodySet lets a command run beside variables that stand empty in a file, and
// those of a Kubernetes service named nats.
func TestWhatNobodySet(t *testing.T) {
	for name, value := range map[string]string{"NATS_PORT": "tcp://10.0.0.1:4222", "SATCHEL_POOL": "", "SATCHEL_LOG": "", "CONTEXT_PACK_INCLUDE_GRAPH": ""} {
		t.Setenv(name, value)
	}
	r := satchel(t, "", "config")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	for _, row := range []string{`SATCHEL_NATS_PORT +4222 `, `SATCHEL_POOL +64 `, `SATCHEL_LOG_LEVEL +warn `, `SATCHEL_INCLUDE_GRAPH +false `} {
		if !regexp.MustCompile(row).MatchString(r.out) {
			t.Errorf("no row %q in\n%s", row, r.out)
		}
	}
}
