package op_test

import (
	"encoding/json"
	"os"
	"strings"

	"satchel/pipeline/op"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/selection/rank"
)

// evalConfig applies SATCHEL_EVAL_OFF, names of features, and SATCHEL_EVAL_WEIGHTS, a
// JSON object of rank.Weights fields. SATCHEL_EVAL_DEFEND leaves out defences:
// off all but duplicates, or all but topic or injection.
func evalConfig(c *op.Config) {
	if v := os.Getenv("SATCHEL_EVAL_OFF"); v != "" {
		c.Disable = strings.Split(v, ",")
	}
	switch os.Getenv("SATCHEL_EVAL_DEFEND") {
	case "off":
		c.Defend = defend.Config{Injection: defend.InjectionOff, OffTopic: -1, Confidence: -1}
	case "topic":
		c.Defend = defend.Config{Injection: defend.InjectionOff}
	case "injection":
		c.Defend = defend.Config{OffTopic: -1}
	}
	if v := os.Getenv("SATCHEL_EVAL_WEIGHTS"); v != "" {
		w := rank.DefaultWeights()
		if err := json.Unmarshal([]byte(v), &w); err != nil {
			panic(err)
		}
		c.Weights = &w
	}
}
