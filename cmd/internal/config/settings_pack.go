package config

// PackSettings say how packs are filled.
type PackSettings struct {
	Shares            string `name:"pack-shares" help:"Percent of a pack's budget for user and preamble / task / tools / knowledge and memory / safety; what one leaves goes to the others." default:"12.5/12.5/7.5/60/7.5" env:"CONTEXT_PACK_SHARES"`
	Rules             string `name:"pack-rules" help:"YAML file of rules that suggest actions, beside or in the place of the built-in ones." env:"CONTEXT_PACK_RULES" type:"path"`
	Summarizer        string `name:"summarizer-url" help:"OpenAI-compatible chat endpoint that writes the TL;DR, as https://api.openai.com/v1; what it says must hold against what it cites. Empty: sentences of the items." env:"SUMMARIZER_URL"`
	SummarizerModel   string `name:"summarizer-model" help:"Its model." env:"SUMMARIZER_MODEL"`
	SummarizerKey     string `name:"summarizer-key" help:"Its key; it needs https, or an endpoint on this machine." env:"SUMMARIZER_KEY" secret:"true"`
	SummarizerTimeout int    `name:"summarizer-timeout-ms" help:"Milliseconds that it may take." default:"5000" env:"SUMMARIZER_TIMEOUT_MS" min:"1" max:"86400000"`
	Order             string `name:"pack-order" help:"Order within sections: tools and knowledge by score or edges (best at both ends), memory also by time." default:"tools=score,knowledge=edges,memory=time" env:"CONTEXT_PACK_ORDER"`
	Cues              string `name:"cues" help:"YAML file of cues in the wording of questions, in the place of the built-in ones, which are English." env:"SATCHEL_CUES" type:"path"`
}
