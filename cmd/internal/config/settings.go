package config

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"satchel/schemas"
)

// Settings are what every command shares. Flags win over the environment.
type Settings struct {
	Dir      string `help:"Data folder: log, indexes, streams, keys." default:".satchel" env:"SATCHEL_DIR" type:"path"`
	Tenant   string `help:"Tenant." default:"main" env:"SATCHEL_TENANT" short:"t"`
	JSON     bool   `name:"json" help:"Print JSON for programs."`
	TZ       string `name:"tz" help:"Time zone whose days questions, filters and packs mean, as Asia/Tokyo or +09:00; empty: UTC. A request may name another." env:"SATCHEL_TZ"`
	LogLevel string `help:"debug, info, warn or error." default:"warn" env:"SATCHEL_LOG" enum:"debug,info,warn,error"`

	NATSURL      string `name:"nats-url" help:"NATS to connect to; empty: for up the server in the process, for the others the one of the process that has the data folder." env:"NATS_URL"`
	NATSPort     int    `name:"nats-port" help:"Port the server in the process listens on, on 127.0.0.1; 0 picks a free one." default:"4222" env:"NATS_PORT" min:"0" max:"65535"`
	Creds        string `help:"NATS credentials file." env:"NATS_CREDS" type:"path"`
	NKey         string `name:"nats-nkey" help:"NATS nkey seed file." env:"NATS_NKEY" type:"path"`
	NATSCA       string `name:"nats-ca" help:"PEM file of the CA certificates to trust for NATS; empty: the system's." env:"NATS_CA" type:"path"`
	NATSCert     string `name:"nats-cert" help:"PEM file of the client certificate for NATS." env:"NATS_CERT" type:"path"`
	NATSKey      string `name:"nats-key" help:"PEM file of the private key of the client certificate." env:"NATS_KEY" type:"path"`
	NATSReplicas int    `name:"nats-replicas" help:"Copies of every stream on a NATS of your own; 0: 3 in a cluster, 1 on a server alone." default:"0" env:"NATS_REPLICAS" min:"0" max:"5"`
	NATSSysCreds string `name:"nats-sys-creds" help:"Credentials file of a user of NATS's system account, for doctor to ask how the servers sync." env:"NATS_SYS_CREDS" type:"path"`
	NATSMonitor  string `name:"nats-monitor-url" help:"Monitoring addresses of the NATS servers, comma-separated, for the same." env:"NATS_MONITOR_URL"`

	HTTPAddr       string   `name:"http-addr" help:"Address for health, readiness, metrics and artifacts; empty: none." default:"127.0.0.1:8230" env:"HTTP_ADDR"`
	HTTPHosts      []string `name:"http-hosts" help:"Host names under which that address may be asked, beside localhost; IP addresses always may." env:"SATCHEL_HTTP_HOSTS"`
	MetricsTenants []string `name:"metrics-tenants" help:"Tenants that the metrics count each by itself, with the label tenant, at most 50; empty: none." env:"SATCHEL_METRICS_TENANTS"`
	PProf          string   `name:"pprof" help:"Loopback address for Go's profiler, as 127.0.0.1:6060; empty: none." env:"SATCHEL_PPROF"`
	OTLPEndpoint   string   `name:"otlp-endpoint" help:"OpenTelemetry collector that traces are sent to over HTTP, as http://127.0.0.1:4318; empty: none." env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	TraceContent   bool     `name:"trace-content" help:"Traces hold queries and memories, which no erasure takes out of the collector." env:"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"`
	Principals     string   `help:"Principal registry, a YAML or JSON file; without one claims count on loopback only." env:"SATCHEL_PRINCIPALS" type:"path"`
	Retention      string   `help:"YAML file that says how long items are kept, reloaded when it changes; empty: until they are erased by request." env:"SATCHEL_RETENTION" type:"path"`
	Bundle         string   `name:"policy-bundle" help:"Rego bundle of your own: a folder, a .rego file or a signed .tar.gz, reloaded when it changes; empty: the built-in one." env:"POLICY_BUNDLE" type:"path"`
	BundleKey      string   `name:"policy-bundle-key" help:"PEM file of the public key that the bundle's signature is verified with; an archive needs one." env:"POLICY_BUNDLE_KEY" type:"path"`

	OPAURL      string `name:"opa-url" help:"OPA server that decides, as http://127.0.0.1:8181; empty: OPA in the process." env:"SCS_OPA_URL"`
	OPAToken    string `name:"opa-token" help:"Bearer token for the OPA server." env:"SCS_OPA_TOKEN" secret:"true"`
	OPACA       string `name:"opa-ca" help:"PEM file of the certificates to trust of the OPA server; empty: the system's." env:"SCS_OPA_CA" type:"path"`
	OPATimeout  int    `name:"opa-timeout-ms" help:"Milliseconds that a decision may take on the OPA server." default:"1000" env:"SCS_OPA_TIMEOUT_MS" min:"1" max:"86400000"`
	OPACache    int    `name:"opa-cache-ttl-ms" help:"Milliseconds that a verdict of the OPA server is kept; 0: not at all." default:"5000" env:"SCS_OPA_CACHE_TTL_MS" min:"0" max:"86400000"`
	OPAFallback bool   `name:"opa-fallback-local" help:"While the OPA server is unavailable, the built-in policy decides, without roles for what is read; otherwise nothing may be read." env:"SCS_OPA_FALLBACK_LOCAL"`

	DatabaseURL    string `name:"database-url" help:"Postgres that keeps the log and the items, as postgres://user:password@host:5432/database?sslmode=verify-full; empty: SQLite in the data folder." env:"DATABASE_URL"`
	DatabaseSchema string `name:"database-schema" help:"Beginning of the names of its schemas in that database." default:"satchel" env:"SATCHEL_DATABASE_SCHEMA"`
	DatabaseConns  int    `name:"database-conns" help:"Connections to the database, for each store, at most." default:"8" env:"SATCHEL_DATABASE_CONNS" min:"1" max:"10000"`
	Keyword        string `help:"Keyword index: inproc, BM25 in the process, or postgres, full-text search in the database." default:"inproc" enum:"inproc,postgres" env:"KEYWORD"`
	KeywordLang    string `name:"keyword-language" help:"Text search configuration of the database, such as german; empty: the analysis of the index in the process." env:"KEYWORD_LANGUAGE"`

	Keys      string   `name:"signing-keys" help:"YAML file of agents' public keys (key id: nkey) for signed memories." env:"SATCHEL_SIGNING_KEYS" type:"path"`
	Signed    bool     `name:"require-signature" help:"Refuse unsigned memories." env:"SATCHEL_REQUIRE_SIGNATURE"`
	Secret    string   `name:"secret-key" help:"File of 32 or more random bytes that pseudonyms and artifact handles are keyed with; empty: keys/secret.key in the data folder, or else derived from the key that signs the log." env:"SATCHEL_SECRET_KEY" type:"path"`
	Origin    string   `name:"origin" help:"Name of the log in its signed heads, followed by / and the tenant, such as log.example.org; empty: that of the heads that the folder has, else made of the key that signs them." env:"SATCHEL_ORIGIN"`
	Witnesses string   `name:"witnesses" help:"File of the witnesses that cosign the signed heads, a tlog-policy; empty: none." env:"SATCHEL_WITNESSES" type:"path"`
	OnWrite   string   `name:"pii-on-write" help:"What is done with a memory in which personal data or a secret is found: off, label, redact or refuse." default:"label" env:"PII_ON_WRITE" enum:"off,label,redact,refuse"`
	PIITypes  []string `name:"pii-types" help:"What counts: email, phone, card, iban, ssn, secret, ip, url, domain, person; empty: the first six." env:"PII_TYPES"`
	Injection string   `help:"What is done with a text that looks like an injected instruction: drop leaves out what orders its reader beyond doubt and fences the rest, fence fences all of it, off looks at nothing." default:"drop" env:"SATCHEL_INJECTION" enum:"drop,fence,off"`
	Unread    string   `name:"injection-unread" help:"What is done with a text in a language that nobody can judge: fence, unless its trust is .8 or more, or show." default:"fence" env:"SATCHEL_INJECTION_UNREAD" enum:"fence,show"`
	Doubted   float64  `name:"confidence-floor" help:"Confidence under which a memory is left out, 0 to 1; its writer gave it." default:"0.1" env:"SATCHEL_CONFIDENCE_FLOOR" min:"0" max:"1"`
	PIIRegion []string `name:"pii-phone-regions" help:"Country codes, as US, whose national telephone numbers count without a word beside them." env:"PII_PHONE_REGIONS"`

	Roles      string `help:"Roles that this worker plays; the others are asked for on ctx.v1.<tenant>.role.<role>." default:"planner,retriever,verifier,synthesizer,sentinel" env:"SATCHEL_ROLES"`
	LLMURL     string `name:"llm-url" help:"OpenAI-compatible endpoint of the synthesizer's model, as https://host/v1; empty: answers quote the context." env:"LLM_URL"`
	LLMModel   string `name:"llm-model" help:"Name of that model." env:"LLM_MODEL"`
	LLMKey     string `name:"llm-key" help:"Bearer token for it." env:"LLM_KEY" secret:"true"`
	LLMTimeout int    `name:"llm-timeout-ms" help:"Milliseconds that an answer of the model may take." default:"30000" env:"LLM_TIMEOUT_MS" min:"1" max:"86400000"`

	Relevance string `name:"relevance-config" help:"Relevance pre-parser config, JSON; empty: the built-in one." env:"SATCHEL_RELEVANCE" type:"path"`

	EmbedURL        string  `name:"embeddings-url" help:"OpenAI-compatible endpoint that embeds, as https://api.openai.com/v1; empty: the binary." env:"EMBEDDINGS_URL"`
	EmbedKey        string  `name:"embeddings-key" help:"Its key." env:"EMBEDDINGS_KEY" secret:"true"`
	EmbedCA         string  `name:"embeddings-ca" help:"PEM file of the certificates to trust of it; empty: the system's." env:"EMBEDDINGS_CA" type:"path"`
	EmbedModel      string  `name:"embeddings-model" help:"Its model; without an endpoint all-MiniLM-L6-v2, the sentence encoder in the binary, or table, its table of words; empty: the encoder where the processor is quick with it." env:"EMBEDDINGS_MODEL"`
	EncoderPercent  int     `name:"encoder-percent" help:"Percent of a core that the sentence encoder takes in the background; 200: all of two." default:"25" env:"SATCHEL_ENCODER_PERCENT" min:"1" max:"6400"`
	EmbedRevision   string  `name:"embeddings-revision" help:"Tells apart models of one name; another one embeds everything anew." default:"1" env:"EMBEDDINGS_REVISION"`
	EmbedDimensions int     `name:"embeddings-dimensions" help:"Length its vectors must have; 0: that of its first answer." default:"0" env:"EMBEDDINGS_DIMENSIONS" min:"0" max:"65536"`
	EmbedShorten    bool    `name:"embeddings-shorten" help:"Ask it for vectors of that length, which some models can give." env:"EMBEDDINGS_SHORTEN"`
	EmbedBatch      int     `name:"embeddings-batch" help:"Texts of a request at most." default:"64" env:"EMBEDDINGS_BATCH" min:"1" max:"65536"`
	EmbedRPS        float64 `name:"embeddings-rps" help:"Requests a second at most; 0: no limit." default:"0" env:"EMBEDDINGS_RPS" min:"0" max:"1000000"`
	EmbedTimeout    int     `name:"embeddings-timeout-ms" help:"Milliseconds that a request may take." default:"15000" env:"EMBEDDINGS_TIMEOUT_MS" min:"1" max:"86400000"`
	EmbedCacheMB    int     `name:"embeddings-cache-mb" help:"Disk for vectors that were paid for once, MiB." default:"512" env:"EMBEDDINGS_CACHE_MB" min:"1" max:"1073741824"`
	EmbedCacheHours int     `name:"embeddings-cache-hours" help:"Hours that such a vector is kept." default:"720" env:"EMBEDDINGS_CACHE_HOURS" min:"1" max:"1000000"`

	Profile           string  `name:"rank-profile" help:"Ranking profile of requests that name none, in tenants that have none." default:"default" env:"H4R_PROFILE"`
	Profiles          string  `name:"rank-profiles" help:"YAML file of ranking profiles, of the tenants' profiles, and of rankers of build and preview." env:"H4R_PROFILES" type:"path"`
	WeightRecency     string  `name:"rank-weight-recency" help:"Weight of recency in that profile; what is given in part rescales the rest." env:"H4R_WEIGHT_RECENCY" min:"0" max:"1"`
	WeightFrequency   string  `name:"rank-weight-frequency" help:"Weight of frequency." env:"H4R_WEIGHT_FREQUENCY" min:"0" max:"1"`
	WeightImportance  string  `name:"rank-weight-importance" help:"Weight of importance." env:"H4R_WEIGHT_IMPORTANCE" min:"0" max:"1"`
	WeightCausality   string  `name:"rank-weight-causality" help:"Weight of causality." env:"H4R_WEIGHT_CAUSALITY" min:"0" max:"1"`
	WeightNovelty     string  `name:"rank-weight-novelty" help:"Weight of 1 − novelty." env:"H4R_WEIGHT_NOVELTY" min:"0" max:"1"`
	WeightTrust       string  `name:"rank-weight-trust" help:"Weight of trust." env:"H4R_WEIGHT_TRUST" min:"0" max:"1"`
	WeightSensitivity string  `name:"rank-weight-sensitivity" help:"Weight of 1 − sensitivity." env:"H4R_WEIGHT_SENSITIVITY" min:"0" max:"1"`
	WeightRelevance   string  `name:"rank-weight-relevance" help:"Weight of retrieval relevance." env:"H4R_WEIGHT_RELEVANCE" min:"0" max:"1"`
	Lambda            string  `name:"rank-recency-decay-lambda" help:"Recency decay per day; empty: the profile's." env:"H4R_RECENCY_DECAY_LAMBDA" min:"0" max:"1000000"`
	MinScore          float64 `name:"rank-min-score" help:"Score under which items are left out, 0 to 1." default:"0" env:"H4R_MIN_SCORE" min:"0" max:"1"`
	MaxBytes          int     `name:"scs-max-bytes" help:"Bytes of content that a request is given at most." default:"122880" env:"SCS_MAX_BYTES_DEFAULT" min:"1" max:"1073741824"`
	MaxTokens         int     `name:"scs-max-tokens" help:"Tokens that a request is given at most." default:"30000" env:"SCS_MAX_TOKENS_DEFAULT" min:"1" max:"1000000000"`
	MaxItems          int     `name:"scs-max-items" help:"Items that a request is given at most; 0: 100, and in proportion more where it names no limit and over 2,000 tokens." default:"0" env:"SCS_MAX_ITEMS_DEFAULT" min:"0" max:"1000000"`
	Sentences         int     `name:"tldr-sentences" help:"Sentences of a pack's summary; 0: none." default:"5" env:"CONTEXT_PACK_TLDR_SENTENCES" min:"0" max:"1000"`
	Graph             bool    `name:"include-graph" help:"Packs hold the causal graph of what they show." env:"CONTEXT_PACK_INCLUDE_GRAPH"`
	PackSettings
	ServerSettings
	RerankSettings
	OIDCSettings
	QuotaSettings

	Compaction string `help:"auto shows extracts of long items where not all fits the budget; off never." default:"auto" enum:"auto,off" env:"COMPACTION"`

	MemoryMB   int    `name:"memory-mb" help:"Memory the in-process indexes may hold, MiB, before idle tenants are evicted." default:"1536" env:"SATCHEL_MEMORY_MB" min:"1" max:"1073741824"`
	MaxTenants int    `name:"max-tenants" help:"Tenants at most; nothing is written for more. 0: any number." default:"10000" env:"SATCHEL_MAX_TENANTS" min:"0" max:"1000000000"`
	TenantIdle int    `name:"tenant-idle-s" help:"Seconds without a request or an event after which a tenant's indexes leave memory, but for the 64 used last; 0: they stay." default:"600" env:"SATCHEL_TENANT_IDLE_S" min:"0" max:"31536000"`
	StreamMB   int    `name:"stream-mb" help:"Disk the streams may take, MiB, shared by MEMORY, LEDGER and DLQ; on a NATS of your own as they are made." default:"8192" env:"SATCHEL_STREAM_MB" min:"1" max:"1073741824"`
	Prices     string `help:"Price table of models, YAML: name: {input: 2.5, output: 10}, for a million tokens; empty: nothing costs." env:"SATCHEL_PRICES" type:"path"`
	ArtifactMB int    `name:"artifact-mb" help:"Disk that artifacts may take, MiB." default:"2048" env:"SATCHEL_ARTIFACT_MB" min:"1" max:"1073741824"`
	HandleTTL  int    `name:"handle-ttl" help:"Seconds that the handle of an artifact is good, at most 86400." default:"900" env:"SATCHEL_HANDLE_TTL" min:"1" max:"86400"`
	Pool       int    `help:"Requests answered at once; more are refused with 429." default:"64" env:"SATCHEL_POOL" min:"1" max:"65536"`
}

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

// RerankSettings name a cross-encoder that orders what policy left.
type RerankSettings struct {
	RerankURL     string `name:"rerank-url" help:"Endpoint of Cohere, Jina or TEI that reranks, as http://127.0.0.1:8080/rerank; empty: none." env:"RERANK_URL"`
	RerankToken   string `name:"rerank-token" help:"Its bearer token." env:"RERANK_TOKEN" secret:"true"`
	RerankModel   string `name:"rerank-model" help:"Its model." env:"RERANK_MODEL"`
	RerankBest    int    `name:"rerank-best" help:"Candidates it is asked about." default:"50" env:"RERANK_BEST" min:"1" max:"10000"`
	RerankTimeout int    `name:"rerank-timeout-ms" help:"Milliseconds that it may take; then the order is without it." default:"500" env:"RERANK_TIMEOUT_MS" min:"1" max:"86400000"`
}

// OIDCSettings say whose JSON Web Tokens the gateway takes.
type OIDCSettings struct {
	OIDCIssuer         string   `name:"oidc-issuer" help:"OpenID Connect issuer whose JSON Web Tokens the gateway takes, as https://login.example.com; empty: none." env:"SATCHEL_OIDC_ISSUER"`
	OIDCAudience       string   `name:"oidc-audience" help:"What their aud must name: the address of the gateway, as https://memory.example.com/mcp." env:"SATCHEL_OIDC_AUDIENCE"`
	OIDCTenantClaim    string   `name:"oidc-tenant-claim" help:"Claim that names the tenant; empty: all are of the tenant of the command." default:"satchel_tenant" env:"SATCHEL_OIDC_TENANT_CLAIM"`
	OIDCPrincipalClaim string   `name:"oidc-principal-claim" help:"Claim that names the principal." default:"sub" env:"SATCHEL_OIDC_PRINCIPAL_CLAIM"`
	OIDCClearance      string   `name:"oidc-clearance" help:"Clearance that each principal claims; a principal registry can only narrow it." default:"public" env:"SATCHEL_OIDC_CLEARANCE" enum:"public,internal,confidential,restricted"`
	OIDCAlgorithms     []string `name:"oidc-algorithms" help:"Algorithms of signatures, of RS256 to ES512, PS256 to PS512 and EdDSA." default:"RS256,ES256" env:"SATCHEL_OIDC_ALGORITHMS"`
	OIDCSkew           int      `name:"oidc-skew-s" help:"Seconds by which the issuer's clock may differ." default:"60" env:"SATCHEL_OIDC_SKEW_S" min:"0" max:"300"`
	OIDCCA             string   `name:"oidc-ca" help:"PEM file of the certificates to trust of the issuer; empty: the system's." env:"SATCHEL_OIDC_CA" type:"path"`
}

// QuotaSettings bound what one principal may take, so that the others keep theirs.
type QuotaSettings struct {
	Share         int `name:"principal-pool" help:"Requests of one principal answered at once while others ask as well; 0: half as many as there are processors." default:"0" env:"SATCHEL_PRINCIPAL_POOL" min:"0" max:"65536"`
	Connections   int `name:"principal-connections" help:"Connections to the embedded NATS of one principal; all clients without a key have eight times as many." default:"64" env:"SATCHEL_PRINCIPAL_CONNECTIONS" min:"1" max:"65536"`
	Subscriptions int `name:"principal-subscriptions" help:"Subscriptions of one such connection." default:"512" env:"SATCHEL_PRINCIPAL_SUBSCRIPTIONS" min:"16" max:"1000000"`
	EventRate     int `name:"principal-events" help:"Events a minute that one principal may put, and at once." default:"60000" env:"SATCHEL_PRINCIPAL_EVENTS" min:"1" max:"1000000000"`
	ByteRate      int `name:"principal-mb" help:"MiB a minute that one principal may put, and at once." default:"256" env:"SATCHEL_PRINCIPAL_MB" min:"1" max:"1048576"`
}

// Logger writes to w what LogLevel lets through.
func (s *Settings) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// TuneRuntime collects garbage more often near a quarter more than the memory the indexes may
// hold. Two threads more than there are processors run Go code, since one that waits for the disk
// keeps its turn for up to 10 ms and a reply would wait behind it. GOMEMLIMIT and GOMAXPROCS, when
// set, decide instead.
func (s *Settings) TuneRuntime() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(s.MemoryMB) << 20 * 5 / 4)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
}

// Path returns a path below the data folder.
func (s *Settings) Path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// Zone is the time zone of the setting, UTC without one.
func (s *Settings) Zone() (*time.Location, error) {
	zone, err := schemas.Zone(s.TZ)
	if err != nil {
		return nil, Usagef("--tz (SATCHEL_TZ) %q: it %v", s.TZ, err)
	}
	return cmp.Or(zone, time.UTC), nil
}

// Effective lists the settings by flag name, with secrets masked.
func (s *Settings) Effective() []Setting { return settingsOf(reflect.ValueOf(*s)) }

func settingsOf(v reflect.Value) []Setting {
	var list []Setting
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			list = append(list, settingsOf(v.Field(i))...)
			continue
		}
		name := f.Tag.Get("name")
		if name == "" {
			name = Kebab(f.Name)
		}
		value := fmt.Sprint(v.Field(i).Interface())
		if f.Tag.Get("secret") != "" && value != "" {
			value = "***"
		}
		one := Setting{Name: name, Value: Mask(value), Help: f.Tag.Get("help"), Default: f.Tag.Get("default")}
		if older := f.Tag.Get("env"); older != "" {
			names := Variables(name, older)
			one.Env = names[0]
			if len(names) > 1 {
				one.Older = names[1]
			}
		}
		list = append(list, one)
	}
	return list
}

// Setting is a setting with its value as printed.
type Setting struct {
	Name  string `json:"name"`
	Env   string `json:"env,omitempty"`
	Older string `json:"older_env,omitempty"` // an older name of the variable, which works as well
	Value string `json:"value"`
	Help  string `json:"help"`

	Default string `json:"-"`
}

// Mask hides the user and password or token of each URL in a comma-separated list, and
// what follows password= in a database's connection string; of the query of a URL every
// value, since services take their keys under many names.
func Mask(value string) string {
	starts := regexp.MustCompile(`(?:^|,)[A-Za-z][A-Za-z0-9+.-]*://`).FindAllStringIndex(value, -1)
	var b strings.Builder
	last := 0
	for i, at := range starts {
		end := len(value)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		b.WriteString(value[last:at[1]])
		last = at[1]
		if user := strings.LastIndexByte(value[last:end], '@'); user >= 0 {
			b.WriteString("***")
			last += user
		}
		if query := strings.IndexAny(value[last:end], "?#"); query >= 0 {
			b.WriteString(value[last : last+query])
			b.WriteString(regexp.MustCompile(`=[^&;#]*`).ReplaceAllString(value[last+query:end], "=***"))
			last = end
		}
	}
	b.WriteString(value[last:])
	return regexp.MustCompile(`(?i)(password\s*=\s*)('[^']*'|[^\s&]+)`).ReplaceAllString(b.String(), "${1}***")
}

// Kebab turns a Go name into that of a flag.
func Kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
