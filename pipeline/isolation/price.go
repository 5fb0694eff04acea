package isolation

import (
	"fmt"
	"math"

	"satchel/schemas"
)

// Prices says what models cost, by name; "*" stands for every other one.
type Prices map[string]Price

// Price is what a model costs for a million tokens, in a unit of the operator's choice.
type Price struct {
	Input  float64 `yaml:"input"`  // shown to it
	Output float64 `yaml:"output"` // said by it
}

// Validate reports a price that is none.
func (p Prices) Validate() error {
	for model, price := range p {
		for _, x := range []float64{price.Input, price.Output} {
			if x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("check prices: that of %q is negative or not a number", model)
			}
		}
	}
	return nil
}

// Cost returns what a call of a model cost; 0 when the model has no price.
func (p Prices) Cost(call schemas.ModelInvocation) float64 {
	price, ok := p[call.Model]
	if !ok {
		price = p["*"]
	}
	return (float64(call.PromptTokens)*price.Input + float64(call.AnswerTokens)*price.Output) / 1e6
}
