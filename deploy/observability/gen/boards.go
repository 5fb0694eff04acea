package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"satchel/pipeline/meter/alert"
	"satchel/schemas"
)

// board is a dashboard: rows of panels, two beside each other.
type board struct {
	name   string
	title  string
	panels []panel
}

// panel is a chart of one or more lines.
type panel struct {
	title  string
	unit   string // as Grafana calls it
	help   string
	lines  []line
	single bool // the last value, as a number
}

type line struct{ expr, legend string }

// Expressions over one metric. The instance is chosen at the top of the board.
func selector(m schemas.Metric, suffix, match string) string {
	all := `instance=~"$instance"`
	if match != "" {
		all += "," + match
	}
	return fmt.Sprintf("%s%s{%s}", m, suffix, all)
}

func rate(m schemas.Metric, match, by string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s[$__rate_interval]))", by, selector(m, "", match))
}

func quantile(q float64, m schemas.Metric, match string) string {
	return fmt.Sprintf("histogram_quantile(%v, sum by (le) (rate(%s[$__rate_interval])))", q, selector(m, "_bucket", match))
}

func worst(m schemas.Metric, by string) string {
	return fmt.Sprintf("max by (%s) (%s)", by, selector(m, "", ""))
}

func meanOf(m schemas.Metric) string {
	return fmt.Sprintf("sum(rate(%s[$__rate_interval])) / sum(rate(%s[$__rate_interval]))", selector(m, "_sum", ""), selector(m, "_count", ""))
}

// quantiles are the median and the slowest twentieth and hundredth.
func quantiles(m schemas.Metric, match string) []line {
	return []line{{quantile(0.5, m, match), "p50"}, {quantile(0.95, m, match), "p95"}, {quantile(0.99, m, match), "p99"}}
}

func boards() []board {
	burning := make([]line, 0, 4)
	for _, o := range alert.Objectives() {
		burning = append(burning, line{fmt.Sprintf(`max(%s{instance=~"$instance"}) / %s`, recorded(o.Name, burns[0].long), formatNumber(1-o.Target)), o.Name})
	}
	const request = `endpoint="request"`
	by := func(m schemas.Metric, label string) []line { return []line{{rate(m, "", label), "{{" + label + "}}"}} }
	return []board{
		{"overview", "Satchel", []panel{
			{"Ready", "bool_yes_no", "Whether every process is ready.", []line{{fmt.Sprintf("min(%s)", selector(schemas.MetricReady, "", "")), ""}}, true},
			{"Log damaged", "bool_yes_no", "Whether a log was found damaged.", []line{{fmt.Sprintf("max(%s)", selector(schemas.MetricLogDamaged, "", "")), ""}}, true},
			{"Since the logs were verified", "s", "Age of the last whole verification.", []line{{fmt.Sprintf("time() - min(%s)", selector(schemas.MetricVerified, "", "")), ""}}, true},
			{"Program", "none", "Processes by version.", []line{{fmt.Sprintf("count by (version) (%s)", selector(schemas.MetricBuild, "", "")), "{{version}}"}}, true},
			{"Speed at which budgets are spent", "none", "Times the speed that spends a 30 days' budget in 30 days, over an hour.", burning, false},
			{"Requests", "reqps", "Requests by outcome.", by(schemas.MetricRequests, "outcome"), false},
			{"Time of context requests", "s", "From arrival to reply.", quantiles(schemas.MetricRequestDuration, request), false},
			{"From publish to indexed", "s", "From the arrival of an event until every index has it.", quantiles(schemas.MetricPublishToIndexed, ""), false},
			{"Free disk space", "bytes", "Where the data folder is.", []line{{worst(schemas.MetricDiskFree, "instance"), "{{instance}}"}}, false},
			{"Streams", "percentunit", "Share of a stream's size that is used.", []line{{fmt.Sprintf("max by (stream) (%s / (%s > 0))", selector(schemas.MetricStreamBytes, "", ""), selector(schemas.MetricStreamLimit, "", "")), "{{stream}}"}}, false},
		}},
		{"write", "Satchel: writing", []panel{
			{"Events", "eps", "Events from the stream, by outcome.", by(schemas.MetricEvents, "outcome"), false},
			{"Events that wait", "short", "In the stream and not in the log.", []line{{worst(schemas.MetricInboxPending, "instance"), "{{instance}}"}}, false},
			{"Age of the oldest", "s", "Of the events that wait.", []line{{worst(schemas.MetricInboxOldest, "instance"), "{{instance}}"}}, false},
			{"Time of an append", "s", "One transaction of the log.", quantiles(schemas.MetricAppendDuration, ""), false},
			{"Index lag", "short", "Log entries that an index lacks, worst tenant.", []line{{worst(schemas.MetricIndexLag, "store"), "{{store}}"}}, false},
			{"Index lag, time", "s", "How long an index has been behind, worst tenant.", []line{{worst(schemas.MetricIndexLagSeconds, "store"), "{{store}}"}}, false},
			{"Ledger lag", "short", "Log entries that LEDGER lacks, worst tenant.", []line{{worst(schemas.MetricLedgerLag, "instance"), "entries"}}, false},
			{"Ledger lag, time", "s", "How long LEDGER has been behind, worst tenant.", []line{{worst(schemas.MetricLedgerLagSeconds, "instance"), "{{instance}}"}}, false},
			{"Dead letters", "eps", "Events refused, by reason.", by(schemas.MetricDeadLettersTotal, "reason"), false},
			{"Dead letters kept", "short", "Messages in DLQ.", []line{{worst(schemas.MetricDeadLetters, "instance"), "{{instance}}"}}, false},
		}},
		{"read", "Satchel: reading", []panel{
			{"Requests by endpoint", "reqps", "Requests of every outcome.", by(schemas.MetricRequests, "endpoint"), false},
			{"Requests that wait", "short", "For a worker of the pool.", []line{{fmt.Sprintf("sum by (endpoint) (%s)", selector(schemas.MetricRequestsWaiting, "", "")), "{{endpoint}}"}}, false},
			{"Finding and ranking", "ms", "Time of the stage.", quantiles(schemas.MetricRetrievalDuration, ""), false},
			{"Policy", "ms", "Time of the stage.", quantiles(schemas.MetricSlicingDuration, ""), false},
			{"Packing", "ms", "Time of the stage.", quantiles(schemas.MetricAssemblyDuration, ""), false},
			{"Candidates", "short", "Mean number found, by retriever.", []line{{fmt.Sprintf("sum by (source) (rate(%s[$__rate_interval])) / sum by (source) (rate(%s[$__rate_interval]))",
				selector(schemas.MetricCandidates, "_sum", ""), selector(schemas.MetricCandidates, "_count", "")), "{{source}}"}}, false},
			{"Tokens of a pack", "short", "Mean.", []line{{meanOf(schemas.MetricPackTokens), "tokens"}}, false},
			{"Relevance", "percentunit", "Score of a pack's best item, and the share of its items that score half of that: means.", []line{{meanOf(schemas.MetricPackRelevance), "best"}, {meanOf(schemas.MetricPackRelevantShare), "relevant share"}}, false},
			{"Left out", "short", "Items a second, by reason.", by(schemas.MetricDropItems, "reason"), false},
			{"Must stay 0", "short", "Replies stopped, and packs over their budget.", []line{{fmt.Sprintf("sum(%s)", selector(schemas.MetricDropGap, "", "")), "gaps"}, {fmt.Sprintf("sum(%s)", selector(schemas.MetricPackOverBudget, "", "")), "over budget"}}, true},
		}},
		{"policy", "Satchel: policy", []panel{
			{"Verdicts", "short", "Items a second, by outcome.", by(schemas.MetricPolicyVerdicts, "outcome"), false},
			{"Denied", "short", "Items a second, by reason.", by(schemas.MetricPolicyDenied, "reason"), false},
			{"Requests without a verdict", "short", "A second.", []line{{rate(schemas.MetricPolicyErrors, "", "instance"), "{{instance}}"}}, false},
			{"Decision cache", "percentunit", "Share of the verdicts that it answered.", []line{{worst(schemas.MetricDecisionCacheHitRate, "instance"), "{{instance}}"}}, false},
			{"Injections", "short", "Items a second that look like instructions.", by(schemas.MetricInjections, "action"), false},
			{"Exceptions used", "short", "A second.", []line{{rate(schemas.MetricExceptionUses, "", "instance"), "{{instance}}"}}, false},
		}},
		{"log", "Satchel: log and erasure", []panel{
			{"Entries", "short", "In the logs of all tenants.", []line{{fmt.Sprintf("sum(%s)", selector(schemas.MetricLogSize, "", "")), "entries"}}, false},
			{"Since a head was signed", "s", "Age of the newest signature.", []line{{fmt.Sprintf("time() - max(%s)", selector(schemas.MetricHeadSigned, "", "")), "age"}}, false},
			{"Since the last backup", "s", "Age of the last backup that succeeded.", []line{{fmt.Sprintf("time() - max(%s)", selector(schemas.MetricBackup, "", "")), "age"}}, false},
			{"Entries without a backup", "short", "Entries that are newer than the last backup.", []line{{fmt.Sprintf("sum(%s) - sum(%s)", selector(schemas.MetricLogSize, "", ""), selector(schemas.MetricBackupPosition, "", "")), "entries"}}, false},
			{"Erasures that are open", "short", "Without a receipt.", []line{{fmt.Sprintf("sum(%s)", selector(schemas.MetricErasuresPending, "", "")), "open"}}, false},
			{"Age of the oldest", "s", "Of the open erasures.", []line{{worst(schemas.MetricErasuresOldest, "instance"), "{{instance}}"}}, false},
			{"Erasures", "short", "A second, by outcome.", by(schemas.MetricErasures, "outcome"), false},
			{"Partitions stopped", "short", "Not read until an operator acts.", []line{{worst(schemas.MetricPartitionsStopped, "instance"), "{{instance}}"}}, true},
		}},
		{"doors", "Satchel: gateway", []panel{
			{"Requests", "reqps", "Requests by operation.", by(schemas.MetricGatewayRequests, "operation"), false},
			{"Answers", "reqps", "By HTTP status.", by(schemas.MetricGatewayRequests, "code"), false},
			{"Time of a request", "s", "From header to answer, but for streams.", quantiles(schemas.MetricGatewayDuration, ""), false},
			{"Without a token that holds", "reqps", "By what is wrong.", by(schemas.MetricGatewayAuthFailures, "why"), false},
			{"Streams", "short", "Open over MCP.", []line{{worst(schemas.MetricGatewayStreams, "instance"), "{{instance}}"}}, true},
			{"Program", "none", "Processes by version, gateways and workers.", []line{{fmt.Sprintf("count by (version) (%s)", selector(schemas.MetricBuild, "", "")), "{{version}}"}}, true},
		}},
		{"roles", "Satchel: roles and models", []panel{
			{"Checks of the verifier", "short", "A second, by check and outcome.", []line{{rate(schemas.MetricVerifierChecks, "", "check, outcome"), "{{check}} {{outcome}}"}}, false},
			{"Citations", "short", "A second, by outcome.", by(schemas.MetricCitations, "outcome"), false},
			{"Anomalies", "short", "Findings of the sentinel a second.", by(schemas.MetricAnomalies, "name"), false},
			{"Tokens", "short", "A second, in packs, and shown to and said by a model.", by(schemas.MetricTokens, "direction"), false},
			{"Cost", "short", "Since the start, in the unit of the price table.", []line{{fmt.Sprintf("sum(%s)", selector(schemas.MetricCost, "", "")), "cost"}}, false},
			{"Embedding endpoint", "short", "Requests and failures a second.", []line{{rate(schemas.MetricEmbeddingRequests, "", "instance"), "requests"}, {rate(schemas.MetricEmbeddingFailures, "", "instance"), "failures"}}, false},
		}},
	}
}

type object = map[string]any

// encode returns the board as Grafana imports it.
func (b *board) encode() ([]byte, error) {
	const width, height, numbers = 12, 8, 6
	panels := []object{}
	x := 0
	y := 0
	source := object{"type": "prometheus", "uid": "${datasource}"}
	for i, p := range b.panels {
		w := width
		h := height
		kind := "timeseries"
		if p.single {
			w = numbers
			h = height / 2
			kind = "stat"
		}
		if x+w > 2*width || i > 0 && p.single != b.panels[i-1].single && x > 0 {
			before := b.panels[i-1]
			x = 0
			y = y + height
			if before.single {
				y -= height / 2
			}
		}
		targets := []object{}
		for n, l := range p.lines {
			targets = append(targets, object{"datasource": source, "expr": l.expr, "legendFormat": l.legend, "refId": string(rune('A' + n))})
		}
		panels = append(panels, object{"id": i + 1, "type": kind, "title": p.title, "description": p.help, "datasource": source,
			"gridPos": object{"x": x, "y": y, "w": w, "h": h}, "fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []object{}}, "targets": targets})
		x += w
	}
	out, err := json.MarshalIndent(object{
		"uid": "satchel-" + b.name, "title": b.title, "tags": []string{"satchel"}, "schemaVersion": 39, "refresh": "30s", "editable": true,
		"time": object{"from": "now-3h", "to": "now"},
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus"},
			{"name": "instance", "type": "query", "datasource": source, "query": fmt.Sprintf("label_values(%s, instance)", schemas.MetricBuild), "refresh": 2, "multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}},
		}},
		"panels": panels,
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode board %q: %w", b.name, err)
	}
	return append(unescaped(out), '\n'), nil
}

// unescaped writes signs as themselves that JSON escapes for the sake of HTML.
func unescaped(raw []byte) []byte {
	return []byte(strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(string(raw)))
}
