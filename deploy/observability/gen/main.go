// Command gen writes what is made of the tables of metrics, alerts and objectives: the boards and rules below
// deploy/observability. It is run in the root of the repository, and its test fails when a file is not as it
// would write it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"satchel/pipeline/meter/alert"
)

func main() {
	if err := update("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// update writes the files below root that are not as they should be.
func update(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, want := range files {
		path := filepath.Join(root, name)
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, want) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// generate returns all files by their path below root.
func generate(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	tests, err := alertTests(false)
	if err != nil {
		return nil, err
	}
	ofGateway, err := alertTests(true)
	if err != nil {
		return nil, err
	}
	contents := map[string]any{"rules/alerts.yml": alerts(false), "rules/gateway.yml": alerts(true), "rules/slo.yml": objectives(),
		"rules/tests/alerts.yml": tests, "rules/tests/gateway.yml": ofGateway}
	for _, b := range burns {
		contents["rules/tests/slo_"+alert.Duration(b.long)+".yml"] = burnTests(b)
	}
	for name, content := range contents {
		text, err := yaml.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[folder+name] = append([]byte(written), text...)
	}
	for _, b := range boards() {
		if files[folder+"dashboards/"+b.name+".json"], err = b.encode(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// folder is where the files for Prometheus and Grafana are.
const folder = "deploy/observability/"

// written begins the files in YAML.
const written = "# Written by go run ./deploy/observability/gen. Do not change it by hand.\n"
