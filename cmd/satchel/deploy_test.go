package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"satchel/cmd/internal/config"
)

const (
	chartDir   = "deploy/helm/satchel"
	composeDir = "deploy/compose"
)

// chart renders the Helm chart as helm template does, with the functions it uses, and
// returns the objects by kind. Values that the chart's schema refuses are an error.
func chart(t *testing.T, change string) (map[string]map[string]any, error) {
	t.Helper()
	values, meta, over := readYAML(t, filepath.Join(chartDir, "values.yaml")), readYAML(t, filepath.Join(chartDir, "Chart.yaml")), map[string]any{}
	if err := yaml.Unmarshal([]byte(change), &over); err != nil {
		t.Fatal(err)
	}
	merge(values, over)
	dropNulls(values)
	if err := checkValues(t, values); err != nil {
		return nil, err
	}
	all := template.New("")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b bytes.Buffer
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"trunc":      func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"list":       func(l ...any) []any { return l },
		"hasKey":     func(m map[string]any, key string) bool { _, ok := m[key]; return ok },
		"regexMatch": func(pattern, s string) (bool, error) { return regexp.MatchString(pattern, s) },
		"fail":       func(message string) (string, error) { return "", errors.New(message) },
		"int":        func(v any) int { return int(reflect.ValueOf(v).Convert(reflect.TypeFor[int]()).Int()) },
		"quote":      func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(otherwise, v any) any {
			if v == nil || v == "" {
				return otherwise
			}
			return v
		},
		"nindent":   func(n int, s string) string { return "\n" + indent(n, s) },
		"sha256sum": func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) },
		"toYaml": func(v any) (string, error) {
			raw, err := yaml.Marshal(v)
			return strings.TrimSpace(string(raw)), err
		},
	})
	files, err := filepath.Glob(filepath.Join("../..", chartDir, "templates", "*"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{"Values": values, "Release": map[string]any{"Name": "prod", "Namespace": "agents", "Service": "Helm"},
		"Chart": map[string]any{"Name": meta["name"], "Version": meta["version"], "AppVersion": meta["appVersion"]}}
	objects := map[string]map[string]any{}
	for _, f := range files {
		name := filepath.Base(f)
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, name, data); err != nil {
			return nil, err
		}
		if !strings.HasSuffix(name, ".yaml") || strings.TrimSpace(b.String()) == "" {
			continue
		}
		object := map[string]any{}
		if err := yaml.UnmarshalWithOptions(b.Bytes(), &object, yaml.Strict()); err != nil {
			t.Fatalf("%s is not YAML: %v\n%s", name, err, b.String())
		}
		objects[fmt.Sprint(object["kind"])] = object
	}
	return objects, nil
}

func indent(n int, s string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}

func readYAML(t *testing.T, path string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(read(t, path)), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// merge lays maps over each other, as Helm and Docker Compose do.
func merge(to, from map[string]any) {
	for k, v := range from {
		inner, ok := v.(map[string]any)
		if old, there := to[k].(map[string]any); ok && there {
			merge(old, inner)
		} else {
			to[k] = v
		}
	}
}

// dropNulls takes away what is null, as Helm does with values.
func dropNulls(values map[string]any) {
	for k, v := range values {
		if inner, ok := v.(map[string]any); ok {
			dropNulls(inner)
		} else if v == nil {
			delete(values, k)
		}
	}
}

// at follows keys and list indexes.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		switch s := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok || m[s] == nil {
				t.Fatalf("%v is not there", path[:i+1])
			}
			v = m[s]
		case int:
			l, ok := v.([]any)
			if !ok || len(l) <= s {
				t.Fatalf("%v is not there", path[:i+1])
			}
			v = l[s]
		}
	}
	return v
}

const everything = `
replicas: 3
logKeySecret: log-key
principals: "tenants: {}\n"
settings: {NEO4J_URL: "neo4j+s://graph:7687", QDRANT_URL: "https://vectors:6334", NEO4J_CA: /etc/satchel/neo4j/ca.pem}
secrets:
  DATABASE_URL: {name: satchel, key: database-url}
  NEO4J_PASSWORD: {name: satchel, key: neo4j}
files: {/etc/satchel/neo4j: {secret: neo4j-ca}}
storage: {className: fast}
podLabels: {team: agents}
nodeSelector: {disk: ssd}
tolerations: [{key: agents, operator: Exists}]
imagePullSecrets: [{name: pull}]
`

func TestChart(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{"defaults": "", "everything": everything} {
		objects, err := chart(t, change)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		set := objects["StatefulSet"]
		pod := at(t, set, "spec", "template", "spec")
		container := at(t, pod, "containers", 0)
		for _, path := range [][]any{{"securityContext", "runAsNonRoot"}, {"containers", 0, "securityContext", "readOnlyRootFilesystem"}} {
			if at(t, pod, path...) != true {
				t.Errorf("%s: %v is not true", name, path)
			}
		}
		for probe, path := range map[string]string{"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"} {
			if got := at(t, container, probe, "httpGet", "path"); got != path {
				t.Errorf("%s: %s asks %v", name, probe, got)
			}
		}
		at(t, container, "resources", "limits", "memory")
		at(t, container, "resources", "requests", "cpu")
		selector := at(t, set, "spec", "selector", "matchLabels")
		for kind, path := range map[string][]any{"PodDisruptionBudget": {"spec", "selector", "matchLabels"},
			"NetworkPolicy": {"spec", "podSelector", "matchLabels"}, "Service": {"spec", "selector"}} {
			if diff := cmp.Diff(selector, at(t, objects[kind], path...)); diff != "" {
				t.Errorf("%s: %s selects other pods:\n%s", name, kind, diff)
			}
		}
		checkEnvironment(t, name, at(t, container, "env").([]any))
		if name == "everything" {
			at(t, objects["ConfigMap"], "data", "principals.yaml")
		}
	}
}

// checkEnvironment: every variable is a setting of Satchel; a secret one is a reference.
func checkEnvironment(t *testing.T, name string, env []any) {
	t.Helper()
	known := environmentOf(reflect.TypeFor[config.Settings]())
	for _, e := range env {
		variable := fmt.Sprint(at(t, e, "name"))
		secret, ok := known[variable]
		if !ok {
			t.Errorf("%s: %s is no setting", name, variable)
		}
		if _, plain := e.(map[string]any)["value"]; plain && secret {
			t.Errorf("%s: the secret %s stands in the chart", name, variable)
		}
	}
}

// environmentOf lists the settings' variables, and whether each is secret.
func environmentOf(settings reflect.Type) map[string]bool {
	all := map[string]bool{}
	for i := range settings.NumField() {
		f := settings.Field(i)
		if f.Anonymous {
			for k, v := range environmentOf(f.Type) {
				all[k] = v
			}
		} else if env := f.Tag.Get("env"); env != "" {
			all[env] = f.Tag.Get("secret") != "" || env == "DATABASE_URL" // a password is in it
		}
	}
	return all
}

func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for variable, secret := range environmentOf(reflect.TypeFor[config.Settings]()) {
		_, err := chart(t, "settings: {"+variable+": x}")
		if refused := err != nil && strings.Contains(err.Error(), "is a secret"); refused != secret {
			t.Errorf("%s (secret: %v) in plain text: error %v; the list is in deploy/helm/satchel/templates/_helpers.tpl", variable, secret, err)
		}
	}
	for says, change := range map[string]string{
		"needs logKeySecret":         "replicas: 2",
		"needs secrets.DATABASE_URL": "{replicas: 2, logKeySecret: x}",
	} {
		if _, err := chart(t, change); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %q", change, err, says)
		}
	}
}

// composed lays compose files of deploy/compose over each other.
func composed(t *testing.T, files ...string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, f := range files {
		merge(all, readYAML(t, filepath.Join(composeDir, f)))
	}
	return all
}

// TestCompose: Satchel and NATS alone, and with the files that add to them.
func TestCompose(t *testing.T) {
	t.Parallel()
	const alone, servers, observability = "compose.yaml", "servers.yaml", "../observability/compose.yaml"
	for want, files := range map[string][]string{
		"nats satchel":                                              {alone},
		"nats neo4j opa postgres qdrant satchel":                    {alone, servers},
		"grafana nats prometheus satchel":                           {alone, observability},
		"grafana nats neo4j opa postgres prometheus qdrant satchel": {alone, servers, observability},
	} {
		file := composed(t, files...)
		services := at(t, file, "services").(map[string]any)
		if got := strings.Join(slices.Sorted(maps.Keys(services)), " "); got != want {
			t.Errorf("%v: services %s, want %s", files, got, want)
		}
		for name := range services {
			checkService(t, name, file)
		}
		checkSettings(t, at(t, services, "satchel", "environment").(map[string]any))
	}
	sample := read(t, filepath.Join(composeDir, ".env.sample"))
	for _, f := range []string{alone, servers} {
		for _, v := range regexp.MustCompile(`\$\{(\w+):\?\}`).FindAllStringSubmatch(read(t, filepath.Join(composeDir, f)), -1) {
			if !strings.Contains(sample, v[1]+"=\n") {
				t.Errorf(".env.sample lacks %s, without a value", v[1])
			}
		}
	}
}

// checkService: a service has a version and a limit, what it mounts and needs is there, and it listens on loopback alone.
func checkService(t *testing.T, name string, file map[string]any) {
	t.Helper()
	services, volumes := at(t, file, "services").(map[string]any), at(t, file, "volumes").(map[string]any)
	s := services[name].(map[string]any)
	at(t, s, "deploy", "resources", "limits", "memory")
	if image := fmt.Sprint(at(t, s, "image")); name != "satchel" && !strings.Contains(image, ":") {
		t.Errorf("%s: the image %s has no version", name, image)
	}
	mounts, _ := s["volumes"].([]any)
	for _, m := range mounts {
		from, _, _ := strings.Cut(fmt.Sprint(m), ":")
		if strings.HasPrefix(from, ".") {
			if _, err := os.Stat(filepath.Join("../..", composeDir, from)); err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		} else if _, ok := volumes[from]; !ok {
			t.Errorf("%s mounts the volume %s, which is not declared", name, from)
		}
	}
	ports, _ := s["ports"].([]any)
	for _, p := range ports {
		if !strings.HasPrefix(fmt.Sprint(p), "127.0.0.1:") {
			t.Errorf("%s listens on every interface: %v", name, p)
		}
	}
	needs, _ := s["depends_on"].(map[string]any)
	for other := range needs {
		if services[other] == nil {
			t.Errorf("%s depends on %s, which is no service", name, other)
		}
	}
}

// checkSettings: each variable is a setting, and a secret one comes from .env.
func checkSettings(t *testing.T, environment map[string]any) {
	t.Helper()
	known := environmentOf(reflect.TypeFor[config.Settings]())
	for variable, value := range environment {
		secret, ok := known[variable]
		if !ok {
			t.Errorf("%s is no setting", variable)
		}
		if secret && !strings.Contains(fmt.Sprint(value), ":?}") {
			t.Errorf("the secret %s stands in the file", variable)
		}
	}
}

// TestDockerfile: what it copies is there, it builds for the module's Go, and nothing runs
// as root.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := read(t, "deploy/Dockerfile")
	stages := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(text, -1)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if len(stages) != 2 || !strings.HasPrefix(stages[0][1], "golang:"+version[1]+"-") || stages[1][1] != "scratch" {
		t.Errorf("stages %v for Go %s", stages, version[1])
	}
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "USER 65532:65532", `ENTRYPOINT ["/satchel"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	known := environmentOf(reflect.TypeFor[config.Settings]())
	for _, v := range regexp.MustCompile(`(\w+)=\S*`).FindAllStringSubmatch(regexp.MustCompile(`(?m)^ENV (.*)$`).FindString(text), -1) {
		if _, ok := known[v[1]]; !ok {
			t.Errorf("%s is no setting", v[1])
		}
	}
	ignored := strings.Fields(read(t, ".dockerignore"))
	if slices.Contains(ignored, "cmd") || slices.Contains(ignored, "pipeline") {
		t.Errorf("the build lacks sources: %v", ignored)
	}
}
