package config

// ServerSettings name the servers that indexes may be moved to.
type ServerSettings struct {
	Neo4jURL       string `name:"neo4j-url" help:"Neo4j that keeps the graph, as neo4j+s://host:7687; empty: SQLite in the data folder." env:"NEO4J_URL"`
	Neo4jUser      string `name:"neo4j-user" help:"Its user." default:"neo4j" env:"NEO4J_USER"`
	Neo4jPassword  string `name:"neo4j-password" help:"The user's password." env:"NEO4J_PASSWORD" secret:"true"`
	Neo4jDatabase  string `name:"neo4j-database" help:"Its database." default:"neo4j" env:"NEO4J_DATABASE"`
	Neo4jCA        string `name:"neo4j-ca" help:"PEM file of the certificates to trust of it; empty: the system's." env:"NEO4J_CA" type:"path"`
	Neo4jNamespace string `name:"neo4j-namespace" help:"Stands before every tenant's name, so that installations can share a database." env:"NEO4J_NAMESPACE"`

	QdrantURL          string `name:"qdrant-url" help:"Qdrant that keeps the vectors, as https://host:6334, the port of gRPC; empty: memory and the data folder." env:"QDRANT_URL"`
	QdrantKey          string `name:"qdrant-api-key" help:"Its API key." env:"QDRANT_API_KEY" secret:"true"`
	QdrantCA           string `name:"qdrant-ca" help:"PEM file of the certificates to trust of it; empty: the system's." env:"QDRANT_CA" type:"path"`
	QdrantCollection   string `name:"qdrant-collection" help:"Beginning of the names of its collections, one for each embedding model." default:"satchel" env:"QDRANT_COLLECTION"`
	QdrantQuantisation string `name:"qdrant-quantization" help:"How a new collection keeps the vectors it searches first: int8 or none." default:"int8" enum:"int8,none" env:"QDRANT_QUANTIZATION"`
	QdrantReplicas     int    `name:"qdrant-replicas" help:"Copies of a new collection in a cluster." default:"1" env:"QDRANT_REPLICAS" min:"1" max:"1000"`
	RetrievalMS        int    `name:"retrieval-ms" help:"Milliseconds that a search on such a server may take before a request goes on without it." default:"2000" env:"SATCHEL_RETRIEVAL_MS" min:"1" max:"86400000"`

	QdrantBatch int `name:"qdrant-batch" help:"Points that a request writes." default:"256" env:"QDRANT_BATCH" min:"1" max:"65536"`
}
