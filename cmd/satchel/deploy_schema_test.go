package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkValues says what Helm would refuse in the values, by the chart's values.schema.json.
func checkValues(t *testing.T, values map[string]any) error {
	t.Helper()
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, filepath.Join(chartDir, "values.schema.json"))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(instance)
}

// TestChartSchema: the schema has each value of values.yaml and no other, but for Helm's own.
func TestChartSchema(t *testing.T) {
	t.Parallel()
	schema := map[string]any{}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(chartDir, "values.schema.json"))), &schema); err != nil {
		t.Fatal(err)
	}
	values := readYAML(t, filepath.Join(chartDir, "values.yaml"))
	values["global"] = map[string]any{}
	at(t, values, "resources").(map[string]any)["claims"] = []any{} // none by default
	compareValues(t, "values", schema, values)
}

// compareValues compares the names in a closed schema with those in values, and goes down both.
func compareValues(t *testing.T, name string, schema, values map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	if schema["additionalProperties"] != false {
		return
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(properties))); diff != "" {
		t.Errorf("%s: values.yaml (-) and values.schema.json (+):\n%s", name, diff)
	}
	for key, value := range values {
		below, isMap := value.(map[string]any)
		if inner, described := properties[key].(map[string]any); isMap && described {
			compareValues(t, name+"."+key, inner, below)
		}
	}
}

func TestChartRefusesValues(t *testing.T) {
	t.Parallel()
	_, text, found := strings.Cut(read(t, "docs/how-to/deploy.md"), "# my-values.yaml\n")
	documented, _, _ := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/how-to/deploy.md has no my-values.yaml")
	}
	for name, good := range map[string]string{"documented": documented, "of another chart": "global: {team: agents}",
		"share": "disruption: {maxUnavailable: 50%}", "none": "replicas: 0", "without a limit": "resources: {limits: null}"} {
		if _, err := chart(t, good); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for change, says := range map[string]string{
		"replica: 2":                                       "at '':",
		"replicas: two":                                    "at '/replicas':",
		"replicas: -1":                                     "at '/replicas':",
		"replicas: null":                                   "at '':",
		"image: {repository: ''}":                          "at '/image/repository':",
		"image: {pullPolicy: always}":                      "at '/image/pullPolicy':",
		"image: {tag: 1.5}":                                "at '/image/tag':",
		"imagePullSecrets: [pull]":                         "at '/imagePullSecrets/0':",
		"settings: {SATCHEL_STREAM_MB: 1048576}":           "at '/settings/SATCHEL_STREAM_MB':",
		"settings: {nats-url: x}":                          "invalid propertyName 'nats-url'",
		"secrets: {DATABASE_URL: postgres://x}":            "at '/secrets/DATABASE_URL':",
		"secrets: {DATABASE_URL: {name: satchel}}":         "at '/secrets/DATABASE_URL':",
		"files: {nats: {secret: x}}":                       "invalid propertyName 'nats'",
		"files: {/etc/nats: {configMap: x}}":               "at '/files/~1etc~1nats':",
		"principals: {tenants: {}}":                        "at '/principals':",
		"storage: {size: 10 GB}":                           "at '/storage/size':",
		"storage: {size: 0Gi}":                             "at '/storage/size':",
		"resources: {limits: {memory: 2 GiB}}":             "at '/resources/limits/memory':",
		"resources: {limit: {memory: 2Gi}}":                "at '/resources':",
		"disruption: {maxUnavailable: 1.5}":                "at '/disruption/maxUnavailable':",
		"networkPolicy: {enabled: 'no'}":                   "at '/networkPolicy/enabled':",
		"networkPolicy: {from: []}":                        "at '/networkPolicy/from':",
		"networkPolicy: {to: []}":                          "at '/networkPolicy/to':",
		"podAnnotations: {prometheus.io/port: 8230}":       "at '/podAnnotations/prometheus.io~1port':",
		"tolerations: {key: agents}":                       "at '/tolerations':",
		"affinity: []":                                     "at '/affinity':",
		"{replicas: 2, logKeySecret: true, secrets: {}}":   "at '/logKeySecret':",
		"{storage: {class: fast}, nodeSelector: {a: '1'}}": "at '/storage':",
	} {
		_, err := chart(t, change)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one with %q", change, err, says)
		}
	}
}
