package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/meter/alert"
	"satchel/schemas"
)

// ruleFile is a rule file of Prometheus.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// burn is one speed at which an objective's budget is spent, and what it alerts.
type burn struct {
	severity    string
	factor      float64 // times the speed that spends the budget in 30 days
	long, short time.Duration
}

// burns are the speeds of the Site Reliability Workbook, chapter 5.
var burns = [...]burn{
	{alert.Page, 14.4, time.Hour, 5 * time.Minute},
	{alert.Page, 6, 6 * time.Hour, 30 * time.Minute},
	{alert.Ticket, 1, 3 * 24 * time.Hour, 6 * time.Hour},
}

// leastEvents is how many events an hour have to be counted before an objective can alert.
const leastEvents = 200

// alerts returns the alerts that are no objectives: those over the metrics of satchel gateway, or
// all others.
func alerts(gateway bool) ruleFile {
	g := ruleGroup{Name: "satchel-alerts"}
	if gateway {
		g.Name = "satchel-gateway"
	}
	for _, r := range alert.Rules() {
		if ofGateway(&r) != gateway {
			continue
		}
		one := rule{Alert: alert.Prefix + r.Name, Expr: r.PromQL(), Labels: map[string]string{"severity": r.Severity}, Annotations: annotations(r.Name, r.Summary)}
		if r.For > 0 {
			one.For = alert.Duration(r.For)
		}
		g.Rules = append(g.Rules, one)
	}
	return ruleFile{[]ruleGroup{g}}
}

// ofGateway reports whether a rule is over a metric of satchel gateway.
func ofGateway(r *alert.Rule) bool {
	return slices.ContainsFunc(schemas.GatewayMetrics(), func(m schemas.Metric) bool { return strings.Contains(r.PromQL(), m.String()) })
}

// objectives returns the recording rules of the objectives, and the alerts on how fast their
// budgets are spent.
func objectives() ruleFile {
	var f ruleFile
	for _, o := range alert.Objectives() {
		g := ruleGroup{Name: "satchel-" + o.Name}
		seen := map[time.Duration]bool{}
		for _, b := range burns {
			for _, window := range []time.Duration{b.short, b.long} {
				if seen[window] {
					continue
				}
				seen[window] = true
				w := alert.Duration(window)
				g.Rules = append(g.Rules, rule{Record: recorded(o.Name, window), Expr: fmt.Sprintf("(%s) / (%s)", ranged(o.Bad, w), ranged(o.All, w))})
			}
		}
		for _, b := range burns {
			limit := fmt.Sprintf("%s * %v", formatNumber(b.factor), formatNumber(1-o.Target))
			g.Rules = append(g.Rules, rule{
				Alert: alert.Prefix + burnName(o.Name),
				Expr: fmt.Sprintf("%s > %s and %s > %s and 3600 * (%s) > %d", recorded(o.Name, b.long), limit, recorded(o.Name, b.short), limit,
					ranged(o.All, "1h"), leastEvents),
				Labels:      map[string]string{"severity": b.severity, "window": alert.Duration(b.long)},
				Annotations: annotations(burnName(o.Name), burnSummary(&o)),
			})
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

func burnSummary(o *alert.Objective) string {
	return fmt.Sprintf("The budget of %s is spent too fast. The objective is %v %%: %s.", strings.ReplaceAll(o.Name, "_", " "), formatNumber(100*o.Target), o.Summary)
}

// ranged puts a range into every selector of an expression.
func ranged(expr, window string) string { return strings.ReplaceAll(expr, "%s", window) }

// recorded is the name of the share that is bad within a window.
func recorded(objective string, window time.Duration) string {
	return fmt.Sprintf("satchel:%s:error_ratio_rate%s", objective, alert.Duration(window))
}

// burnName is the alert of an objective without its prefix: LatencyTailBurn.
func burnName(objective string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(objective, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String() + "Burn"
}

// formatNumber rounds away what binary fractions add.
func formatNumber(f float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", f), "0"), ".")
}

func annotations(name, summary string) map[string]string {
	return map[string]string{"summary": summary, "runbook_url": runbook + "#" + anchor(name)}
}

// runbook is the page that says what to do about each alert.
const runbook = "docs/reference/runbook.md"

// anchor is the fragment of an alert's heading.
func anchor(name string) string { return strings.ToLower(alert.Prefix + name) }
