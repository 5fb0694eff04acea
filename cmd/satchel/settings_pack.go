package main

import (
	"os"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/chat/openai"
	"satchel/pipeline/pack"
)

// PackSettings say how packs are filled.
type PackSettings struct {
	Shares            string `name:"pack-shares" help:"Percent of a pack's budget for user and preamble / task / tools / knowledge and memory / safety; what one leaves goes to the others." default:"12.5/12.5/7.5/60/7.5" env:"CONTEXT_PACK_SHARES"`
	Rules             string `name:"pack-rules" help:"YAML file of rules that suggest actions, beside or in the place of the built-in ones." env:"CONTEXT_PACK_RULES" type:"path"`
	Summarizer        string `name:"summarizer-url" help:"OpenAI-compatible chat endpoint that writes the TL;DR, as https://api.openai.com/v1; what it says must hold against what it cites. Empty: sentences of the items." env:"SUMMARIZER_URL"`
	SummarizerModel   string `name:"summarizer-model" help:"Its model." env:"SUMMARIZER_MODEL"`
	SummarizerKey     string `name:"summarizer-key" help:"Its key; it needs https, or an endpoint on this machine." env:"SUMMARIZER_KEY" secret:"true"`
	SummarizerTimeout int    `name:"summarizer-timeout-ms" help:"Milliseconds that it may take." default:"5000" env:"SUMMARIZER_TIMEOUT_MS" min:"1" max:"86400000"`
	Order             string `name:"pack-order" help:"Order within sections: tools and knowledge by score or edges (best at both ends), memory also by time." default:"tools=score,knowledge=edges,memory=time" env:"CONTEXT_PACK_ORDER"`
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
	if p.Rules != "" {
		raw, err := os.ReadFile(p.Rules)
		if err != nil {
			return usagef("CONTEXT_PACK_RULES: %v", err)
		}
		if cfg.Rules, err = pack.NewRules(p.Rules, raw); err != nil {
			return usagef("CONTEXT_PACK_RULES: %v", err)
		}
	}
	return p.summarizer(cfg)
}

func (p *PackSettings) summarizer(cfg *pipeline.Config) error {
	if p.Summarizer == "" || cfg.TLDR < 0 {
		return nil
	}
	model, err := openai.New(openai.Config{URL: p.Summarizer, Model: p.SummarizerModel, Key: p.SummarizerKey,
		Timeout: time.Duration(p.SummarizerTimeout) * time.Millisecond, Retries: 1})
	if err != nil {
		return usagef("SUMMARIZER_URL: %v", err)
	}
	cfg.Summarizer = &pack.Summarizer{Model: model, Sentences: cfg.TLDR}
	return nil
}
