package config

// RerankSettings name a cross-encoder that orders what policy left.
type RerankSettings struct {
	RerankURL     string `name:"rerank-url" help:"Endpoint of Cohere, Jina or TEI that reranks, as http://127.0.0.1:8080/rerank; empty: none." env:"RERANK_URL"`
	RerankToken   string `name:"rerank-token" help:"Its bearer token." env:"RERANK_TOKEN" secret:"true"`
	RerankModel   string `name:"rerank-model" help:"Its model." env:"RERANK_MODEL"`
	RerankBest    int    `name:"rerank-best" help:"Candidates it is asked about." default:"50" env:"RERANK_BEST" min:"1" max:"10000"`
	RerankTimeout int    `name:"rerank-timeout-ms" help:"Milliseconds that it may take; then the order is without it." default:"500" env:"RERANK_TIMEOUT_MS" min:"1" max:"86400000"`
}
