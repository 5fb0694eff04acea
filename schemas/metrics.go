package schemas

import "slices"

// Metric names a family of metrics that a process serves at /metrics. The constants below are
// all there are: an instrument is made of one of them.
type Metric int

// The families, in the order of the documentation.
const (
	MetricBuild Metric = iota
	MetricReady
	MetricRequests
	MetricRequestDuration
	MetricRequestsWaiting
	MetricPrincipalsLimited
	MetricEvents
	MetricInboxPending
	MetricInboxOldest
	MetricAppendDuration
	MetricPublishToIndexed
	MetricIndexLag
	MetricIndexLagSeconds
	MetricUnanalysed
	MetricLedgerLag
	MetricLedgerLagSeconds
	MetricLedgerForeign
	MetricDeadLetters
	MetricDeadLettersTotal
	MetricPartitionsStopped
	MetricStreamBytes
	MetricStreamLimit
	MetricDiskFree
	MetricLogSize
	MetricLogDamaged
	MetricVerified
	MetricHeadSigned
	MetricWitnessSize
	MetricWitnessTimestamp
	MetricWitnessConflicts
	MetricBackup
	MetricBackupPosition
	MetricErasuresPending
	MetricErasuresOldest
	MetricErasures
	MetricRetentionHeld
	MetricPolicyVerdicts
	MetricPolicyDenied
	MetricPolicyErrors
	MetricPolicyLoaded
	MetricDecisionCacheHitRate
	MetricRetrievalDuration
	MetricSlicingDuration
	MetricAssemblyDuration
	MetricCandidates
	MetricBudgetUtilization
	MetricAffordances
	MetricPackTokens
	MetricPackRelevance
	MetricPackRelevantShare
	MetricPackOverBudget
	MetricDropItems
	MetricDropGap
	MetricInjections
	MetricRelevanceExcluded
	MetricQueriesSpared
	MetricCitations
	MetricVerifierChecks
	MetricAnomalies
	MetricExceptionUses
	MetricTokens
	MetricCost
	MetricEncoderLag
	MetricEmbeddingCacheHits
	MetricEmbeddingCacheMisses
	MetricEmbeddingRequests
	MetricEmbeddingFailures
	MetricGatewayRequests
	MetricGatewayDuration
	MetricGatewayStreams
	MetricGatewayAuthFailures
	metrics // how many there are
)

// MetricKind is what Prometheus calls the type of a metric.
type MetricKind string

// The kinds of metrics.
const (
	MetricCounter   MetricKind = "counter"
	MetricGauge     MetricKind = "gauge"
	MetricHistogram MetricKind = "histogram"
)

// MetricOther is the value of a label in place of one that the table does not list.
const MetricOther = "other"

// MetricLabel is a label and the values that it can have. No value comes from the network.
type MetricLabel struct {
	Name   string
	Values []string // nil: the process knows them when it starts
}

// MetricFamily says what a metric is.
type MetricFamily struct {
	Name   string // as Prometheus has it
	Kind   MetricKind
	Unit   string // "" for a plain number
	Labels []MetricLabel
	Bounds []float64 // upper bounds of a histogram's buckets
	Help   string
	// PerTenant is set where SATCHEL_METRICS_TENANTS adds the label tenant, whose values are the tenants
	// that it lists. A series without it counts all other tenants.
	PerTenant bool
}

// Metrics lists every family.
func Metrics() []Metric {
	all := make([]Metric, metrics)
	for i := range all {
		all[i] = Metric(i)
	}
	return all
}

// GatewayMetrics lists the families that satchel gateway serves beside the build; all others are
// those of satchel up and satchel worker.
func GatewayMetrics() []Metric {
	return []Metric{MetricGatewayRequests, MetricGatewayDuration, MetricGatewayStreams, MetricGatewayAuthFailures}
}

// Family returns the description of a metric.
func (m Metric) Family() MetricFamily { return families[m] }

// String returns the name of the metric.
func (m Metric) String() string { return families[m].Name }

// Series lists the values of the labels of every series that is known beforehand, in the order of
// the labels: one without labels has one. It returns nil where the process makes them known.
func (f *MetricFamily) Series() [][]string {
	series := [][]string{{}}
	for _, l := range f.Labels {
		var longer [][]string
		for _, s := range series {
			for _, v := range l.Values {
				longer = append(longer, append(slices.Clone(s), v))
			}
		}
		series = longer
	}
	return series
}

// The bounds of the histograms. Those of requests hold the objectives, 0.03 and 0.2 s.
var (
	boundsRequest = [...]float64{.001, .0025, .005, .01, .02, .03, .05, .1, .2, .5, 1, 2.5, 5, 10}
	boundsWrite   = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	boundsStage   = [...]float64{.5, 1, 2.5, 5, 10, 20, 50, 100, 200, 500, 1000, 2500, 5000} // ms
	boundsItems   = [...]float64{0, 5, 10, 25, 50, 75, 100, 150, 250, 500, 1000}
	boundsPercent = [...]float64{10, 25, 50, 75, 90, 95, 100, 105, 110}
	boundsTokens  = [...]float64{50, 100, 250, 500, 1000, 1500, 2000, 3000, 4000, 8000, 16000, 30000}
	boundsShare   = [...]float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1}
)

// The values of labels that several families, or packages, share.
var (
	metricEndpoints = [...]string{"request", "search", "build", "preview", "assemble", "premortem", "template", "relevance", "explain", "compact",
		"recover", "items", "status", "exception", "hold", "put", "head", "prove", "receipt", "pack", "entries", "open", "revoke", "store", "run",
		"plan", "role_planner", "role_retriever", "role_verifier", "role_synthesizer", "role_sentinel"}
	metricStores  = [...]string{"items", "keyword", "private", "vector", "graph"}
	metricStreams = [...]string{"MEMORY", "LEDGER", "DLQ"}
	metricDrops   = [...]string{string(DropBudget), string(DropRank), string(DropScore), string(DropConfidence), string(DropRecalled), string(DropDuplicate), string(DropNewer),
		string(DropStale), string(DropPolicy), string(DropOffTopic), string(DropInjection), string(DropRelevance), string(DropSuperseded),
		string(DropErased), string(DropSummarised), MetricOther}
	metricDenials = [...]string{"tenant", "credentials", "clearance", "sensitivity", "groups", "purpose", "export", "trust", "expired", "no_longer_valid",
		"role", "safety", "safety_untagged", "four_eyes", "action", "policy_error", MetricOther}
	metricLetters = [...]string{"malformed", "unlabelled", "bad_id", "unknown_type", "wrong_tenant", "oversized", "bad_signature", "personal_data",
		"id_reuse", "policy_denied", "unknown_item", MetricOther}
	metricOperations = [...]string{"remember", "items", "item", "context", "search", "pack", "explain", "recover", "correct", "forget", "status", "head",
		"openapi", "schema", "metrics", "mcp", "stream", "console", MetricOther}
	metricStatuses = [...]string{"200", "202", "303", "400", "401", "403", "404", "405", "409", "413", "429", "500", "503", "504", MetricOther}
	metricChecks   = [...]string{"labels", "tools", "budget", "drops", "citations", "support", "redactions", "tools_named", MetricOther}
)

func label(name string, values ...string) MetricLabel {
	return MetricLabel{Name: name, Values: values}
}

// families is the table. It is only read.
var families = [metrics]MetricFamily{
	MetricBuild: {Name: "satchel_build_info", Kind: MetricGauge, Labels: []MetricLabel{{Name: "version"}, {Name: "revision"}}, Help: "1; the labels name the program"},
	MetricReady: {Name: "satchel_ready", Kind: MetricGauge, Help: "1 while /readyz answers 200"},

	MetricRequests: {Name: "satchel_requests_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("endpoint", metricEndpoints[:]...), label("outcome", "answered", "invalid", "failed", "refused")},
		Help: "requests over NATS: answered, invalid (the caller's mistake, 4xx), failed, refused because too many waited (429)"},
	MetricRequestDuration: {Name: "satchel_request_duration_seconds", PerTenant: true, Kind: MetricHistogram, Unit: "s", Labels: []MetricLabel{label("endpoint", metricEndpoints[:]...)}, Bounds: boundsRequest[:],
		Help: "time from the arrival of a request to its reply, of those that are answered or failed"},
	MetricRequestsWaiting: {Name: "satchel_requests_waiting", Kind: MetricGauge, Labels: []MetricLabel{label("endpoint", metricEndpoints[:]...)}, Help: "requests that wait for a worker"},
	MetricPrincipalsLimited: {Name: "satchel_principals_limited", Kind: MetricGauge, Labels: []MetricLabel{label("limit", "requests", "connections", "subscriptions")},
		Help: "principals at a limit: with requests refused (429) in the last minute, or with as many connections, or subscriptions of one, as they may have; satchel doctor names them"},

	MetricEvents:           {Name: "satchel_events_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("outcome", "logged", "duplicate", "dead")}, Help: "events taken from the stream MEMORY: logged, in the log already, or dead letters"},
	MetricInboxPending:     {Name: "satchel_inbox_pending", Kind: MetricGauge, Help: "events in the stream MEMORY that the log does not have"},
	MetricInboxOldest:      {Name: "satchel_inbox_oldest_seconds", Kind: MetricGauge, Unit: "s", Help: "age of the oldest such event"},
	MetricAppendDuration:   {Name: "satchel_append_duration_seconds", Kind: MetricHistogram, Unit: "s", Bounds: boundsWrite[:], Help: "time of one transaction that appends events to the log"},
	MetricPublishToIndexed: {Name: "satchel_publish_to_indexed_seconds", PerTenant: true, Kind: MetricHistogram, Unit: "s", Bounds: boundsWrite[:], Help: "time from the arrival of an event in the stream until every index has it"},
	MetricIndexLag:         {Name: "satchel_index_lag_positions", PerTenant: true, Kind: MetricGauge, Labels: []MetricLabel{label("store", metricStores[:]...)}, Help: "log entries that an index does not have, of the tenant that is furthest behind"},
	MetricIndexLagSeconds:  {Name: "satchel_index_lag_seconds", PerTenant: true, Kind: MetricGauge, Unit: "s", Labels: []MetricLabel{label("store", metricStores[:]...)}, Help: "how long an index has been behind the log, of the tenant that waits longest"},
	MetricUnanalysed:       {Name: "satchel_items_unanalysed_total", PerTenant: true, Kind: MetricCounter, Help: "items that could not be analysed within their bounds: the indexes hide the whole of each"},
	MetricLedgerLag:        {Name: "satchel_ledger_lag_positions", PerTenant: true, Kind: MetricGauge, Help: "log entries that the stream LEDGER does not have, of the tenant that is furthest behind"},
	MetricLedgerLagSeconds: {Name: "satchel_ledger_lag_seconds", PerTenant: true, Kind: MetricGauge, Unit: "s", Help: "how long the stream LEDGER has been behind the log, of the tenant that waits longest"},
	MetricLedgerForeign:    {Name: "satchel_ledger_foreign_total", Kind: MetricCounter, Help: "messages in the stream LEDGER that Satchel did not write"},
	MetricDeadLetters:      {Name: "satchel_dead_letters", Kind: MetricGauge, Help: "messages in the stream DLQ"},
	MetricDeadLettersTotal: {Name: "satchel_dead_letters_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("reason", metricLetters[:]...)}, Help: "events that became dead letters, by reason"},
	MetricPartitionsStopped: {Name: "satchel_partitions_stopped", Kind: MetricGauge,
		Help: "partitions of the stream MEMORY that are not read until an operator acts"},
	MetricStreamBytes: {Name: "satchel_stream_bytes", Kind: MetricGauge, Unit: "bytes", Labels: []MetricLabel{label("stream", metricStreams[:]...)}, Help: "size of a stream"},
	MetricStreamLimit: {Name: "satchel_stream_limit_bytes", Kind: MetricGauge, Unit: "bytes", Labels: []MetricLabel{label("stream", metricStreams[:]...)}, Help: "size that a stream may reach; -1: any"},
	MetricDiskFree:    {Name: "satchel_disk_free_bytes", Kind: MetricGauge, Unit: "bytes", Help: "free space where the data folder is"},

	MetricLogSize:          {Name: "satchel_log_size", PerTenant: true, Kind: MetricGauge, Help: "entries in the logs of all tenants"},
	MetricLogDamaged:       {Name: "satchel_log_damaged", Kind: MetricGauge, Help: "1 when a log was found damaged"},
	MetricVerified:         {Name: "satchel_verify_last_success_timestamp_seconds", Kind: MetricGauge, Unit: "s", Help: "when all logs were last verified whole; 0: not since the start"},
	MetricHeadSigned:       {Name: "satchel_head_signed_timestamp_seconds", Kind: MetricGauge, Unit: "s", Help: "when the head of a log was last signed; 0: not since the start"},
	MetricWitnessSize:      {Name: "satchel_witness_size", Kind: MetricGauge, Labels: []MetricLabel{{Name: "witness"}}, Help: "entries of all tenants that the witness is known to have cosigned"},
	MetricWitnessTimestamp: {Name: "satchel_witness_timestamp_seconds", Kind: MetricGauge, Unit: "s", Labels: []MetricLabel{{Name: "witness"}}, Help: "when the witness had last cosigned every head that was signed"},
	MetricWitnessConflicts: {Name: "satchel_witness_conflicts_total", Kind: MetricCounter, Labels: []MetricLabel{{Name: "witness"}}, Help: "answers of the witness that it cosigned another history of a log"},
	MetricBackup:           {Name: "satchel_backup_last_success_timestamp_seconds", Kind: MetricGauge, Unit: "s", Help: "when the last satchel backup of the data folder that succeeded began; 0: there is none"},
	MetricBackupPosition:   {Name: "satchel_backup_last_success_position", Kind: MetricGauge, Help: "entries of all tenants that this backup has; compare with satchel_log_size"},

	MetricErasuresPending: {Name: "satchel_erasures_pending", PerTenant: true, Kind: MetricGauge, Help: "erasures that have no receipt yet"},
	MetricErasuresOldest:  {Name: "satchel_erasures_oldest_seconds", PerTenant: true, Kind: MetricGauge, Unit: "s", Help: "age of the oldest such erasure"},
	MetricRetentionHeld:   {Name: "satchel_retention_held", PerTenant: true, Kind: MetricGauge, Help: "items that retention would erase and legal holds keep, when it ran last"},
	MetricErasures:        {Name: "satchel_erasures_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("outcome", "done", "refused", "held")}, Help: "erasures: finished with a receipt, refused by policy, or refused for a legal hold"},

	MetricPolicyVerdicts: {Name: "satchel_policy_verdicts_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("outcome", "allowed", "redacted", "denied")}, Help: "verdicts of policy on items that a request found"},
	MetricPolicyDenied:   {Name: "satchel_policy_denied_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("reason", metricDenials[:]...)}, Help: "items that policy denied, by reason; reasons of your own rules count as other"},
	MetricPolicyErrors:   {Name: "satchel_policy_errors_total", PerTenant: true, Kind: MetricCounter, Help: "requests that policy gave no verdict on"},
	MetricPolicyLoaded:   {Name: "satchel_policy_loaded_timestamp_seconds", Kind: MetricGauge, Unit: "s", Help: "when the policy in force was loaded; 0: a server has it"},
	MetricDecisionCacheHitRate: {Name: "scs_opa_cache_hit_rate", Kind: MetricGauge,
		Help: "share of the verdicts that the decision cache answered, in the process or for an OPA server, 0 to 1"},

	MetricRetrievalDuration: {Name: "h4r_retrieval_duration_ms", Kind: MetricHistogram, Unit: "ms", Bounds: boundsStage[:], Help: "time that a request took to find and rank items"},
	MetricSlicingDuration:   {Name: "scs_slicing_duration_ms", Kind: MetricHistogram, Unit: "ms", Bounds: boundsStage[:], Help: "time that policy took to decide on the items of a request"},
	MetricAssemblyDuration:  {Name: "context_pack_assembly_duration_ms", Kind: MetricHistogram, Unit: "ms", Bounds: boundsStage[:], Help: "time that packing, accounting and isolating took"},
	MetricCandidates:        {Name: "h4r_candidates_count", Kind: MetricHistogram, Labels: []MetricLabel{label("source", "all", "keyword", "vector", "graph", "recency", MetricOther)}, Bounds: boundsItems[:], Help: "items that a request found, by retriever and in all"},
	MetricBudgetUtilization: {Name: "scs_budget_utilization_pct", Kind: MetricHistogram, Unit: "percent", Labels: []MetricLabel{label("limit", "tokens", "bytes", "items")}, Bounds: boundsPercent[:], Help: "share of a limit that a pack used"},
	MetricAffordances:       {Name: "context_pack_affordances_generated", Kind: MetricCounter, Help: "affordances that packs offered"},

	MetricPackTokens:        {Name: "satchel_pack_tokens", PerTenant: true, Kind: MetricHistogram, Bounds: boundsTokens[:], Help: "tokens of a pack"},
	MetricPackRelevance:     {Name: "satchel_pack_best_relevance_score", Kind: MetricHistogram, Bounds: boundsShare[:], Help: "score of the best item of a pack, 0 to 1"},
	MetricPackRelevantShare: {Name: "satchel_pack_relevant_share", Kind: MetricHistogram, Bounds: boundsShare[:], Help: "share of a pack's items that score at least half of its best: a proxy of precision"},
	MetricPackOverBudget:    {Name: "satchel_pack_over_budget_total", PerTenant: true, Kind: MetricCounter, Help: "packs over their token budget; must stay 0"},
	MetricDropItems:         {Name: "satchel_drop_items_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("reason", metricDrops[:]...)}, Help: "items that were found and left out, by reason"},
	MetricDropGap:           {Name: "satchel_drop_gap_total", PerTenant: true, Kind: MetricCounter, Help: "replies stopped because shown and dropped items did not add up; must stay 0"},
	MetricInjections:        {Name: "satchel_injections_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("action", "dropped", "fenced")}, Help: "items that look like injected instructions: left out, or shown inside a fence"},
	MetricRelevanceExcluded: {Name: "satchel_relevance_excluded_total", Kind: MetricCounter, Labels: []MetricLabel{{Name: "node"}, {Name: "layer"}}, Help: "context nodes that the relevance gate left out, by node and layer"},
	MetricQueriesSpared:     {Name: "satchel_relevance_queries_spared_total", Kind: MetricCounter, Help: "searches that the relevance gate made unnecessary"},

	MetricCitations:      {Name: "satchel_citations_total", Kind: MetricCounter, Labels: []MetricLabel{label("outcome", "holds", "fails")}, Help: "citations that the verifier looked at"},
	MetricVerifierChecks: {Name: "satchel_verifier_checks_total", Kind: MetricCounter, Labels: []MetricLabel{label("check", metricChecks[:]...), label("outcome", "holds", "fails")}, Help: "checks of the verifier"},
	MetricAnomalies:      {Name: "satchel_anomalies_total", Kind: MetricCounter, Labels: []MetricLabel{label("name", append(Anomalies(), MetricOther)...)}, Help: "anomalies that the sentinel found"},
	MetricExceptionUses:  {Name: "satchel_exception_uses_total", PerTenant: true, Kind: MetricCounter, Help: "uses of governed exceptions"},
	MetricTokens:         {Name: "satchel_tokens_total", PerTenant: true, Kind: MetricCounter, Labels: []MetricLabel{label("direction", "pack", "prompt", "answer")}, Help: "tokens of packs, and of what a model was shown and said in the runs of the roles"},
	MetricCost:           {Name: "satchel_cost_total", PerTenant: true, Kind: MetricCounter, Help: "cost of these runs, in the unit of SATCHEL_PRICES"},

	MetricEncoderLag:           {Name: "satchel_encoder_lag_positions", Kind: MetricGauge, Help: "log entries whose items have no vector of the sentence encoder yet"},
	MetricEmbeddingCacheHits:   {Name: "satchel_embedding_cache_hits_total", Kind: MetricCounter, Help: "texts whose vector was cached"},
	MetricEmbeddingCacheMisses: {Name: "satchel_embedding_cache_misses_total", Kind: MetricCounter, Help: "texts that were sent to the embedding endpoint"},
	MetricEmbeddingRequests:    {Name: "satchel_embedding_requests_total", Kind: MetricCounter, Help: "requests to the embedding endpoint"},
	MetricEmbeddingFailures:    {Name: "satchel_embedding_failures_total", Kind: MetricCounter, Help: "calls that the embedding endpoint failed"},

	MetricGatewayRequests: {Name: "satchel_gateway_requests_total", Kind: MetricCounter, Labels: []MetricLabel{label("operation", metricOperations[:]...), label("code", metricStatuses[:]...)},
		Help: "requests to satchel gateway by operation and HTTP status; mcp is every message over MCP"},
	MetricGatewayDuration: {Name: "satchel_gateway_request_duration_seconds", Kind: MetricHistogram, Unit: "s", Labels: []MetricLabel{label("operation", metricOperations[:]...)}, Bounds: boundsRequest[:],
		Help: "time from the header of a request to the end of its answer, but for streams"},
	MetricGatewayStreams:      {Name: "satchel_gateway_streams", Kind: MetricGauge, Help: "streams of events that are open, over MCP and of the ledger"},
	MetricGatewayAuthFailures: {Name: "satchel_gateway_auth_failures_total", Kind: MetricCounter, Labels: []MetricLabel{label("why", "missing", "unknown", "scope")}, Help: "requests without a token, with one that is not known or has expired, or without the scope of the operation"},
}
