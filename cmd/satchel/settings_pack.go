package main

import (
	"satchel/pipeline"
	"satchel/pipeline/pack"
)

// PackSettings say how packs are filled.
type PackSettings struct {
	Shares string `name:"pack-shares" help:"Percent of a pack's budget for user and preamble / task / tools / knowledge and memory / safety; what one leaves goes to the others." default:"12.5/12.5/7.5/60/7.5" env:"CONTEXT_PACK_SHARES"`
	Order  string `name:"pack-order" help:"Order within sections: tools and knowledge by score or edges (best at both ends), memory also by time." default:"tools=score,knowledge=edges,memory=time" env:"CONTEXT_PACK_ORDER"`
}

// apply sets what the engine takes of the settings.
func (p *PackSettings) apply(cfg *pipeline.Config) error {
	shares, err := pack.ParseShares(p.Shares)
	if err != nil {
		return usagef("CONTEXT_PACK_SHARES: %v", err)
	}
	cfg.Shares = &shares
	if cfg.Orders, err = pack.ParseOrders(p.Order); err != nil {
		return usagef("CONTEXT_PACK_ORDER: %v", err)
	}
	return nil
}
