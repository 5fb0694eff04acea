package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nkeys"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/test/testenv"
)

func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"SATCHEL_PRINCIPAL=p.yaml":        "SATCHEL_PRINCIPAL is no setting; did you mean SATCHEL_PRINCIPALS?",
		"SATCHEL_REQUIRE_SIGNATURES=true": "SATCHEL_REQUIRE_SIGNATURES is no setting; did you mean SATCHEL_REQUIRE_SIGNATURE?",
		"SATCHEL_DRI=x":                   "SATCHEL_DRI is no setting; did you mean SATCHEL_DIR?",
		"SCS_OPA_UR=http://opa:8181":      "SCS_OPA_UR is no setting; did you mean SCS_OPA_URL?",
		"H4R_WEIGHT_RECENT=1":             "H4R_WEIGHT_RECENT is no setting; did you mean H4R_WEIGHT_RECENCY?",
		"CONTEXT_PACK_TLDR=5":             "CONTEXT_PACK_TLDR is no setting; satchel config prints those there are",
		"SATCHEL_OPA_URL=http://opa:8181": "",
		"SATCHEL_NATS_URL=nats://a:4222":  "",
		"SATCHEL_PORT=4222":               "SATCHEL_PORT is no setting; satchel config prints those there are", // Kubernetes gives an address
		"NEO4J_URI=bolt://a:7687":         "NEO4J_URI is no setting; did you mean NEO4J_URL?",
		"QDRANT_APIKEY=x":                 "QDRANT_APIKEY is no setting; did you mean QDRANT_API_KEY?",
		"DATABASE_ULR=postgres://a/b":     "DATABASE_ULR is no setting; did you mean DATABASE_URL?",
		"SATCHEL_PRINCIPAL=":              "",
		"SATCHEL_PRINCIPALS=p.yaml":       "",
		"SATCHEL_FAILPOINT=x":             "",
		"SATCHEL_TEST_REQUIRE=postgres":   "",
		"SATCHEL_BENCH=1":                 "",
		"NEO4J_HOME=/var/lib/neo4j":       "",
		"NEO4J_AUTH=neo4j/x":              "",
		"NATS_CONTEXT=x":                  "",
		"OPENAI_API_KEY=x":                "",
		"HTTP_PROXY=http://proxy:8080":    "",
		"PATH=/bin":                       "",
		// What Kubernetes puts into the pods of services named satchel and satchel-nats.
		"SATCHEL_SERVICE_HOST=10.0.0.1":            "",
		"SATCHEL_SERVICE_PORT=4222":                "",
		"SATCHEL_SERVICE_PORT_NATS=4222":           "",
		"SATCHEL_PORT=tcp://10.0.0.1:4222":         "",
		"SATCHEL_PORT_4222_TCP=tcp://10.0.0.1:422": "",
		"SATCHEL_PORT_4222_TCP_PROTO=tcp":          "",
		"SATCHEL_PORT_4222_TCP_PORT=4222":          "",
		"SATCHEL_PORT_4222_TCP_ADDR=10.0.0.1":      "",
		"SATCHEL_NATS_SERVICE_HOST=10.0.0.1":       "",
		"SATCHEL_NATS_PORT=tcp://10.0.0.1:4222":    "",
	} {
		if got := strings.Join((&config.Settings{}).UnknownSettings([]string{env}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
	if got := (&config.Settings{}).UnknownSettings([]string{"NEO4J_URI=x", "NEO4J_URL=y", "SATCHEL_A=s3cret", "SCS_B=1"}); len(got) != 2 || strings.Contains(got[0], "s3cret") {
		t.Errorf("%q", got) // what is nearly one that is set is somebody else's
	}
}

// TestWhatTheRepositoryReadsIsNotUnknown looks through the sources and the Makefile.
func TestWhatTheRepositoryReadsIsNotUnknown(t *testing.T) {
	t.Parallel()
	testenv.TooLongRaced(t)
	used := regexp.MustCompile(`Getenv\("((?:SATCHEL|SCS|H4R|CONTEXT_PACK)_\w+)"\)|\b((?:SATCHEL|SCS|H4R|CONTEXT_PACK)_\w+)=`)
	names := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "Makefile" && filepath.Ext(path) != ".go" || d.Name() == "settings_unknown_test.go" {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, m := range used.FindAllStringSubmatch(string(raw), -1) {
			names[m[1]+m[2]] = true
		}
		return err
	})
	if err != nil || len(names) < 10 {
		t.Fatalf("%v, error %v", names, err)
	}
	for name := range names {
		if got := (&config.Settings{}).UnknownSettings([]string{name + "=1"}); len(got) > 0 {
			t.Error(got)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for _, pair := range [][2]string{{"", ""}, {"", "ab"}, {"ab", ""}, {"ab", "ab"}, {"ab", "ba"}, {"abc", "ac"}, {"ac", "abc"}, {"abc", "axc"}, {"kiln", "lane"}} {
		got[pair[0]+">"+pair[1]] = config.Distance(pair[0], pair[1])
	}
	want := map[string]int{">": 0, ">ab": 2, "ab>": 2, "ab>ab": 0, "ab>ba": 1, "abc>ac": 1, "ac>abc": 1, "abc>axc": 1, "kiln>lane": 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A misspelt governance setting is named by all that say how Satchel stands, and its value
// by none.
func TestAMisspeltSettingIsNamed(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("SATCHEL_PRINCIPAL", "p.yaml")
	const what = "SATCHEL_PRINCIPAL is no setting; did you mean SATCHEL_PRINCIPALS?"
	dir := t.TempDir()
	r := satchel(t, "", "config", "--json", "--dir", dir)
	if effectiveOf(t, r.out); r.err != "warning: "+what+"\n" {
		t.Errorf("config says %q", r.err)
	}
	contains(t, "doctor", satchel(t, "", "doctor", "--dir", dir).out, "NO   settings               "+what)
	r = satchel(t, "", "up", "--dir", dir, "--http-addr", "nowhere", "--nats-port", "0")
	contains(t, "up", r.err, `level=WARN msg="`+what)
	if all := r.err + r.out; strings.Contains(all, "p.yaml") {
		t.Errorf("it shows the value:\n%s", all)
	}
	t.Setenv("SATCHEL_PRINCIPAL", "")
	if r := satchel(t, "", "config", "--dir", dir); r.err != "" {
		t.Errorf("config says %q", r.err)
	}
	contains(t, "doctor", satchel(t, "", "doctor", "--dir", dir).out, "ok   settings ")
}

// Signatures that are required and can be nobody's refuse every memory.
func TestSignaturesWithoutKeys(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"none.yaml": "", "keys.yaml": "agent-1: " + public + "\n", "bad.yaml": "agent-1: x\n"})
	up := []string{"up", "--dir", filepath.Join(dir, "data"), "--http-addr", "nowhere", "--nats-port", "0", "--require-signature"}
	contains(t, "up", satchel(t, "", up...).err, `level=WARN msg="`+app.Keyless)
	for file, want := range map[string]string{
		"":          "NO   signatures             " + app.Keyless,
		"none.yaml": "NO   signatures             " + app.Keyless,
		"bad.yaml":  "NO   signatures             ",
		"gone.yaml": "NO   signatures             read signing keys",
		"keys.yaml": "ok   signatures             a memory has to be signed by one of 1 key",
	} {
		args := []string{"doctor", "--dir", dir, "--require-signature"}
		if file != "" {
			args = append(args, "--signing-keys", filepath.Join(dir, file))
		}
		contains(t, file, satchel(t, "", args...).out, want)
	}
	if r := satchel(t, "", "doctor", "--dir", dir); strings.Contains(r.out, "signatures") {
		t.Error(r.out)
	}
}
