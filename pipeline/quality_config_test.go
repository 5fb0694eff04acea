package pipeline_test

import (
	"os"
	"strings"

	"satchel/pipeline"
)

func evalConfig(c *pipeline.Config) {
	if v := os.Getenv("SATCHEL_EVAL_OFF"); v != "" {
		c.Disable = strings.Split(v, ",")
	}
}
