package pipeline_test

import (
	"encoding/json"
	"os"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/selection"
)

// evalConfig applies SATCHEL_EVAL_OFF, names of features, and SATCHEL_EVAL_WEIGHTS, a
// JSON object of selection.Weights fields.
func evalConfig(c *pipeline.Config) {
	if v := os.Getenv("SATCHEL_EVAL_OFF"); v != "" {
		c.Disable = strings.Split(v, ",")
	}
	if v := os.Getenv("SATCHEL_EVAL_WEIGHTS"); v != "" {
		w := selection.DefaultWeights()
		if err := json.Unmarshal([]byte(v), &w); err != nil {
			panic(err)
		}
		c.Weights = &w
	}
}
