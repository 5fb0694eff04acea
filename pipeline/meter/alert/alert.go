// Package alert has the rules of the alerts and the service level objectives, and evaluates them in
// the process. The rules for Prometheus are made of the same tables, so that GET /alerts and
// Prometheus speak of the same thresholds. It reads metrics alone and changes nothing.
package alert

import (
	"fmt"
	"time"

	"satchel/schemas"
)

// Prefix begins the name of every alert.
const Prefix = "Satchel"

// The severities of alerts.
const (
	Page   = "page"   // somebody has to act now
	Ticket = "ticket" // somebody has to act this week
)

// Kind is how a condition compares its metric.
type Kind int

// The kinds of conditions. None means that only Prometheus can evaluate the rule.
const (
	None  Kind = iota
	Above      // the largest series is above the limit
	Below      // the smallest series is below the limit
	Grew       // the sum has grown by more than the limit within a time
	Older      // the metric is a time, longer ago than the limit in seconds; 0 counts as the start
)

// Condition compares a metric with a limit.
type Condition struct {
	Kind   Kind
	Metric schemas.Metric
	Label  string // with Value: only series with this value of this label
	Value  string
	Limit  float64
	Over   time.Duration // of Grew
}

// Rule is one alert.
type Rule struct {
	Name     string // without Prefix
	Severity string
	When     Condition
	Expr     string        // in PromQL, of a rule without a condition
	For      time.Duration // how long it has to hold
	Summary  string
}

// Rules lists the alerts, but for those of the objectives.
func Rules() []Rule {
	const gib = 1 << 30
	above := func(m schemas.Metric, limit float64) Condition {
		return Condition{Kind: Above, Metric: m, Limit: limit}
	}
	grew := func(m schemas.Metric, limit float64, over time.Duration) Condition {
		return Condition{Kind: Grew, Metric: m, Limit: limit, Over: over}
	}
	only := func(c Condition, label, value string) Condition {
		c.Label = label
		c.Value = value
		return c
	}
	rules := []Rule{
		{"Down", Page, Condition{}, `up{job="satchel"} == 0`, 2 * time.Minute, "A Satchel process does not answer."},
		{"NotReady", Page, Condition{Kind: Below, Metric: schemas.MetricReady, Limit: 1}, "", 2 * time.Minute, "A process is not ready; /readyz says why."},
		{"Refusing", Ticket, Condition{}, formatShare(schemas.MetricRequests, `outcome="refused"`, "5m") + " > 0.01", 5 * time.Minute, "More than 1 % of the requests are refused with 429."},
		{"InboxStuck", Page, above(schemas.MetricInboxOldest, 60), "", time.Minute, "Events wait for longer than a minute to be logged."},
		{"IndexBehind", Ticket, above(schemas.MetricIndexLagSeconds, 60), "", time.Minute, "An index is more than a minute behind the log."},
		{"LedgerBehind", Ticket, above(schemas.MetricLedgerLagSeconds, 60), "", time.Minute, "The stream LEDGER is more than a minute behind the log."},
		{"ForeignLedger", Page, grew(schemas.MetricLedgerForeign, 0, time.Hour), "", 0, "Somebody else wrote to the stream LEDGER."},
		{"DeadLetters", Ticket, grew(schemas.MetricDeadLettersTotal, 10, 15*time.Minute), "", 0, "More than 10 events became dead letters within 15 minutes."},
		{"PartitionStopped", Page, above(schemas.MetricPartitionsStopped, 0), "", 0, "A partition is not read until an operator acts."},
		{"LogDamaged", Page, above(schemas.MetricLogDamaged, 0), "", 0, "A log was found damaged."},
		{"VerifyStale", Ticket, Condition{Kind: Older, Metric: schemas.MetricVerified, Limit: (26 * time.Hour).Seconds()}, "", 0, "The logs were not verified for more than 26 hours."},
		{"NotWitnessed", Ticket, Condition{}, fmt.Sprintf("time() - min by (instance, witness) (%s) > 900", schemas.MetricWitnessTimestamp), 0, "A witness has not cosigned a head for 15 minutes."},
		{"WitnessConflict", Page, grew(schemas.MetricWitnessConflicts, 0, time.Hour), "", 0, "A witness cosigned another history of a log."},
		{"BackupStale", Ticket, Condition{Kind: Older, Metric: schemas.MetricBackup, Limit: (26 * time.Hour).Seconds()}, "", 0, "No backup succeeded for more than 26 hours."},
		{"ErasureLate", Page, above(schemas.MetricErasuresOldest, 600), "", 0, "An erasure has no receipt after ten minutes."},
		{"DropGap", Page, grew(schemas.MetricDropGap, 0, time.Hour), "", 0, "A reply was stopped: shown and dropped items did not add up."},
		{"OverBudget", Ticket, grew(schemas.MetricPackOverBudget, 0, time.Hour), "", 0, "A pack is over its token budget."},
		{"PolicyErrors", Page, grew(schemas.MetricPolicyErrors, 0, 5*time.Minute), "", 0, "Policy gives no verdict, so requests fail."},
		{"DiskLow", Page, Condition{Kind: Below, Metric: schemas.MetricDiskFree, Limit: gib}, "", time.Minute, "Less than 1 GiB is free where the data folder is."},
		{"StreamNearlyFull", Ticket, Condition{}, fmt.Sprintf("max by (instance, stream) (%s / (%s > 0)) > 0.85", schemas.MetricStreamBytes, schemas.MetricStreamLimit), 5 * time.Minute, "A stream has reached 85 % of its size."},
		{"InjectionBurst", Ticket, only(grew(schemas.MetricInjections, 50, 10*time.Minute), "action", "dropped"), "", 0, "More than 50 items were left out as injected within ten minutes."},
		{"ContextRot", Ticket, only(grew(schemas.MetricAnomalies, 0, time.Hour), "name", schemas.AnomalyContextRot), "", 0, "The sentinel found that contexts rot."},
		{"ExceptionUsed", Ticket, grew(schemas.MetricExceptionUses, 0, 15*time.Minute), "", 0, "A governed exception was used."},
		{"TokenCreep", Ticket, Condition{}, tokenCreep(), time.Hour, "Packs have 25 % more tokens than a day before."},
		{"AuthFailures", Ticket, Condition{}, fmt.Sprintf("sum by (instance) (rate(%s[5m])) > 1", schemas.MetricGatewayAuthFailures), 5 * time.Minute, "More than one request a second comes to satchel gateway without a token that holds."},
		{"CitationDrop", Ticket, Condition{}, formatShare(schemas.MetricCitations, `outcome="fails"`, "1h") + " > 0.05 and " + formatIncrease(schemas.MetricCitations, "1h") + " > 20", 0, "More than 5 % of the citations do not hold."},
	}
	for _, stage := range []struct {
		name   string
		metric schemas.Metric
		limit  int
	}{{"Retrieval", schemas.MetricRetrievalDuration, 200}, {"Slicing", schemas.MetricSlicingDuration, 50}, {"Assembly", schemas.MetricAssemblyDuration, 100}} {
		rules = append(rules, Rule{stage.name + "Slow", Ticket, Condition{},
			fmt.Sprintf("histogram_quantile(0.95, sum by (instance, le) (rate(%s_bucket[10m]))) > %d", stage.metric, stage.limit), 10 * time.Minute,
			fmt.Sprintf("95 %% of the requests no longer pass this stage within %d ms.", stage.limit)})
	}
	return rules
}

// formatShare is the part of a family that matches, by instance, in PromQL.
func formatShare(m schemas.Metric, match, over string) string {
	return fmt.Sprintf("sum by (instance) (increase(%s{%s}[%s])) / %s", m, match, over, formatIncrease(m, over))
}

func formatIncrease(m schemas.Metric, over string) string {
	return fmt.Sprintf("sum by (instance) (increase(%s[%s]))", m, over)
}

// tokenCreep compares the mean tokens of a pack with those of the day before.
func tokenCreep() string {
	mean := func(offset string) string {
		return fmt.Sprintf("(sum by (instance) (increase(%[1]s_sum[1d]%[2]s)) / sum by (instance) (increase(%[1]s_count[1d]%[2]s)))", schemas.MetricPackTokens, offset)
	}
	return mean("") + " > 1.25 * " + mean(" offset 1d")
}

// PromQL returns the rule's expression.
func (r *Rule) PromQL() string {
	c := &r.When
	name := c.Metric.String()
	if c.Label != "" {
		name += fmt.Sprintf("{%s=%q}", c.Label, c.Value)
	}
	by := "instance"
	for _, l := range c.Metric.Family().Labels {
		if c.Kind == Above || c.Kind == Below {
			by += ", " + l.Name
		}
	}
	switch c.Kind {
	case Above:
		return fmt.Sprintf("max by (%s) (%s) > %v", by, name, c.Limit)
	case Below:
		return fmt.Sprintf("min by (%s) (%s) < %v", by, name, c.Limit)
	case Grew:
		return fmt.Sprintf("sum by (instance) (increase(%s[%s])) > %v", name, Duration(c.Over), c.Limit)
	case Older:
		// Other processes that are scraped, satchel gateway among them, have a start and not the metric.
		started := fmt.Sprintf("process_start_time_seconds and on (instance) %s", name)
		return fmt.Sprintf("time() - (max by (instance) (%s > 0) or max by (instance) (%s)) > %v", name, started, c.Limit)
	}
	return r.Expr
}

// Duration writes a duration as Prometheus does.
func Duration(d time.Duration) string {
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
