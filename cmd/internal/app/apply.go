package app

import (
	"os"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline"
	"satchel/pipeline/model/remote"
	"satchel/pipeline/op"
	"satchel/pipeline/pack"
	"satchel/pipeline/passage"
)

// applyPack sets what the engine takes of the settings.
func (a *App) applyPack(cfg *op.Config) error {
	shares, err := pack.ParseShares(a.PackSettings.Shares)
	if err != nil {
		return config.Usagef("CONTEXT_PACK_SHARES: %v", err)
	}
	cfg.Shares = &shares
	if cfg.Orders, err = pack.ParseOrders(a.PackSettings.Order); err != nil {
		return config.Usagef("CONTEXT_PACK_ORDER: %v", err)
	}
	if a.PackSettings.Rules != "" {
		raw, err := os.ReadFile(a.PackSettings.Rules)
		if err != nil {
			return config.Usagef("CONTEXT_PACK_RULES: %v", err)
		}
		if cfg.Rules, err = pack.NewRules(a.PackSettings.Rules, raw); err != nil {
			return config.Usagef("CONTEXT_PACK_RULES: %v", err)
		}
	}
	if a.Cues != "" {
		cues, err := passage.ReadCues(a.Cues)
		if err != nil {
			return config.Usagef("SATCHEL_CUES: %v", err)
		}
		cfg.Cues = &cues
	}
	return a.openSummarizer(cfg)
}

func (a *App) openSummarizer(cfg *op.Config) error {
	if a.PackSettings.Summarizer == "" || cfg.TLDR < 0 {
		return nil
	}
	model, err := remote.NewChat(remote.ChatConfig{URL: a.PackSettings.Summarizer, Model: a.PackSettings.SummarizerModel, Key: a.PackSettings.SummarizerKey,
		Timeout: time.Duration(a.PackSettings.SummarizerTimeout) * time.Millisecond, Retries: 1})
	if err != nil {
		return config.Usagef("SUMMARIZER_URL: %v", err)
	}
	cfg.Summarizer = &pack.Summarizer{Model: model, Sentences: cfg.TLDR}
	return nil
}

// applyRerank sets the cross-encoder, where the settings name one.
func (a *App) applyRerank(cfg *pipeline.Config) error {
	if a.RerankURL == "" {
		return nil
	}
	c, err := remote.NewReranker(remote.RerankerConfig{URL: a.RerankURL, Token: a.RerankToken, Model: a.RerankModel,
		Timeout: time.Duration(a.RerankTimeout) * time.Millisecond})
	if err != nil {
		return &config.UsageError{Err: err}
	}
	cfg.Reranker = c
	cfg.Reranked = a.RerankBest
	return nil
}
