package app

import (
	"os"

	"satchel/cmd/internal/config"
	"satchel/worker/witness"
)

// openWitnesses reads which witnesses cosign the heads; nil for none.
func (a *App) openWitnesses(n *Node, o NodeOptions) (*witness.Client, error) {
	if a.Witnesses == "" {
		return nil, nil
	}
	policy, err := os.ReadFile(a.Witnesses)
	if err != nil {
		return nil, config.Usagef("--witnesses: %v", err)
	}
	c, err := witness.New(witness.Config{Policy: policy, Log: n.Log, Dir: a.Path("heads"), Meter: n.meters,
		Clock: o.Clock, Logger: n.logger})
	if err != nil {
		return nil, config.Usagef("--witnesses %s: %v; docs/witness.md shows one", a.Witnesses, err)
	}
	return c, nil
}
