package main

import (
	"fmt"
	"time"

	"satchel/pipeline/meter/alert"
	"satchel/schemas"
)

// testFile is a file for promtool test rules.
type testFile struct {
	RuleFiles []string   `yaml:"rule_files"`
	Interval  string     `yaml:"evaluation_interval"`
	Tests     []ruleTest `yaml:"tests"`
}

type ruleTest struct {
	Name     string      `yaml:"name"`
	Interval string      `yaml:"interval"`
	Series   []series    `yaml:"input_series"`
	Alerts   []alertTest `yaml:"alert_rule_test"`
}

type series struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type alertTest struct {
	At       string     `yaml:"eval_time"`
	Alert    string     `yaml:"alertname"`
	Expected []expected `yaml:"exp_alerts"`
}

type expected struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// A test has an instance with the fault, which fires and falls silent when the fault ends, and one
// without it.
const (
	faulty = "a"
	sound  = "b"
)

// trial is a fault in series, one sample a step: {} stands for the instance. Before the time fires
// the fault has begun, before silent it has ended.
type trial struct {
	step          time.Duration
	bad, good     []series
	fires, silent time.Duration
	labels        map[string]string // of the alert, beside instance and severity
}

// alertTests returns a test of each alert that is no objective: those over the metrics of satchel gateway, or
// all others.
func alertTests(gateway bool) (testFile, error) {
	f := testFile{RuleFiles: []string{"../alerts.yml"}, Interval: "1m"}
	if gateway {
		f.RuleFiles = []string{"../gateway.yml"}
	}
	by := trials()
	for _, r := range alert.Rules() {
		if ofGateway(&r) != gateway {
			continue
		}
		t, ok := by[r.Name]
		if !ok {
			if r.When.Kind == alert.None {
				return f, fmt.Errorf("alert %s has no test: add its series to trials", r.Name)
			}
			t = trialOf(&r)
		}
		labels := map[string]string{"instance": faulty, "severity": r.Severity}
		for name, value := range t.labels {
			labels[name] = value
		}
		one := ruleTest{Name: r.Name, Interval: alert.Duration(t.step)}
		for _, s := range t.bad {
			one.Series = append(one.Series, series{fmt.Sprintf(s.Series, faulty), s.Values})
		}
		for _, s := range t.good {
			one.Series = append(one.Series, series{fmt.Sprintf(s.Series, sound), s.Values})
		}
		one.Alerts = []alertTest{
			{alert.Duration(t.fires), alert.Prefix + r.Name, []expected{{labels, annotations(r.Name, r.Summary)}}},
			{alert.Duration(t.silent), alert.Prefix + r.Name, []expected{}},
		}
		f.Tests = append(f.Tests, one)
	}
	return f, nil
}

// trialOf makes the series of a rule with a condition: the fault begins at once and is over after
// an hour.
func trialOf(r *alert.Rule) trial {
	c := &r.When
	selector := `%s{instance="%%s"`
	t := trial{step: time.Minute, fires: 50 * time.Minute, silent: 70 * time.Minute, labels: map[string]string{}}
	for _, l := range c.Metric.Family().Labels {
		value := l.Values[0]
		if l.Name == c.Label {
			value = c.Value
		} else if c.Kind != alert.Grew {
			t.labels[l.Name] = value
		}
		selector += fmt.Sprintf(",%s=%q", l.Name, value)
	}
	name := fmt.Sprintf(selector+"}", c.Metric)
	switch c.Kind {
	case alert.Above:
		t.bad, t.good = one(name, fmt.Sprintf("%vx60 %vx20", c.Limit+1, c.Limit)), one(name, fmt.Sprintf("%vx80", c.Limit))
	case alert.Below:
		t.bad, t.good = one(name, fmt.Sprintf("%vx60 %vx20", c.Limit-1, c.Limit)), one(name, fmt.Sprintf("%vx80", c.Limit))
	case alert.Grew: // it grows at once, and the rule forgets
		t.fires = 2 * time.Minute
		t.silent = c.Over + 5*time.Minute
		t.bad, t.good = one(name, fmt.Sprintf("0 %vx100", 2*(c.Limit+1))), one(name, "0x100")
	case alert.Older:
		t.step = time.Hour
		t.fires = time.Duration(c.Limit)*time.Second + time.Hour
		t.silent = time.Duration(c.Limit)*time.Second + 3*time.Hour
		late := int(t.fires/time.Hour) + 1
		t.bad = one(name, fmt.Sprintf("1x%d %dx5", late-1, late*3600))
		t.good = append(one(name, fmt.Sprintf("1+3600x%d", late+5)),
			series{`process_start_time_seconds{instance="another-%s"}`, fmt.Sprintf("1x%d", late+5)}) // of another program
	}
	return t
}

func one(name, values string) []series { return []series{{name, values}} }

// trials has the series of the rules that Prometheus alone evaluates.
func trials() map[string]trial {
	const minute, hour = time.Minute, time.Hour
	m := func(metric schemas.Metric, suffix, labels string) string {
		return fmt.Sprintf(`%s%s{instance="%%s"%s}`, metric, suffix, labels)
	}
	stage := func(metric schemas.Metric, bound string) trial {
		slow := func(within string) []series {
			return []series{{m(metric, "_bucket", fmt.Sprintf(`,le=%q`, bound)), within}, {m(metric, "_bucket", `,le="5000"`), "0+100x90"}, {m(metric, "_bucket", `,le="+Inf"`), "0+100x90"}}
		}
		return trial{step: minute, fires: 40 * minute, silent: 80 * minute, bad: slow("0+80x45 3700+100x45"), good: slow("0+100x90")}
	}
	return map[string]trial{
		"Down": {step: minute, fires: 10 * minute, silent: 25 * minute, labels: map[string]string{"job": "satchel"},
			bad: one(`up{job="satchel",instance="%s"}`, "1 0x15 1x20"), good: one(`up{job="satchel",instance="%s"}`, "1x40")},
		"Refusing": {step: minute, fires: 20 * minute, silent: 50 * minute,
			bad:  []series{{m(schemas.MetricRequests, "", `,endpoint="request",outcome="answered"`), "0+100x60"}, {m(schemas.MetricRequests, "", `,endpoint="request",outcome="refused"`), "0+2x30 60x30"}},
			good: []series{{m(schemas.MetricRequests, "", `,endpoint="request",outcome="answered"`), "0+1000x60"}, {m(schemas.MetricRequests, "", `,endpoint="request",outcome="refused"`), "0+5x60"}}},
		"StreamNearlyFull": {step: minute, fires: 10 * minute, silent: 30 * minute, labels: map[string]string{"stream": "MEMORY"},
			bad:  []series{{m(schemas.MetricStreamBytes, "", `,stream="MEMORY"`), "90x20 80x20"}, {m(schemas.MetricStreamLimit, "", `,stream="MEMORY"`), "100x40"}},
			good: []series{{m(schemas.MetricStreamBytes, "", `,stream="MEMORY"`), "90x40"}, {m(schemas.MetricStreamLimit, "", `,stream="MEMORY"`), "-1x40"}}},
		"TokenCreep": {step: hour, fires: 47 * hour, silent: 80 * hour, // a day of 1,000 tokens, a day of 1,400, and so on
			bad:  []series{{m(schemas.MetricPackTokens, "_sum", ""), "0+10000x24 240000+14000x60"}, {m(schemas.MetricPackTokens, "_count", ""), "0+10x84"}},
			good: []series{{m(schemas.MetricPackTokens, "_sum", ""), "0+10000x24 240000+11000x60"}, {m(schemas.MetricPackTokens, "_count", ""), "0+10x84"}}},
		"CitationDrop": {step: minute, fires: 30 * minute, silent: 150 * minute,
			bad:  []series{{m(schemas.MetricCitations, "", `,outcome="holds"`), "0+9x160"}, {m(schemas.MetricCitations, "", `,outcome="fails"`), "0+1x40 40x120"}},
			good: []series{{m(schemas.MetricCitations, "", `,outcome="holds"`), "0+99x160"}, {m(schemas.MetricCitations, "", `,outcome="fails"`), "0+1x160"}}},
		"AuthFailures": {step: minute, fires: 20 * minute, silent: 50 * minute,
			bad:  one(m(schemas.MetricGatewayAuthFailures, "", `,why="unknown"`), "0+90x30 2700x30"),
			good: one(m(schemas.MetricGatewayAuthFailures, "", `,why="unknown"`), "0+50x60")},
		"NotWitnessed": {step: minute, fires: 20 * minute, silent: 50 * minute, labels: map[string]string{"witness": "w1"},
			bad:  one(m(schemas.MetricWitnessTimestamp, "", `,witness="w1"`), "0x30 1800+60x30"),
			good: one(m(schemas.MetricWitnessTimestamp, "", `,witness="w1"`), "0+60x60")},
		"WitnessConflict": {step: minute, fires: 50 * minute, silent: 130 * minute,
			bad:  one(m(schemas.MetricWitnessConflicts, "", `,witness="w1"`), "0x10 1x140"),
			good: one(m(schemas.MetricWitnessConflicts, "", `,witness="w1"`), "0x150")},
		"RetrievalSlow": stage(schemas.MetricRetrievalDuration, "200"),
		"SlicingSlow":   stage(schemas.MetricSlicingDuration, "50"),
		"AssemblySlow":  stage(schemas.MetricAssemblyDuration, "100"),
	}
}

// burnTests returns tests of the objectives for one speed: an instance spends the budget 1.2 times
// as fast as the alert begins, another 0.8 times.
func burnTests(b burn) testFile {
	step := min(b.short/5, 20*time.Minute).Truncate(time.Minute)
	f := testFile{RuleFiles: []string{"../slo.yml"}, Interval: alert.Duration(step)}
	for _, o := range alert.Objectives() {
		t := ruleTest{Name: fmt.Sprintf("%s %v times", o.Name, b.factor), Interval: alert.Duration(step)}
		at := alertTest{At: alert.Duration(b.long), Alert: alert.Prefix + burnName(o.Name), Expected: []expected{}}
		for _, spender := range []struct {
			instance string
			share    float64
		}{{faulty, 1.2}, {sound, 0.8}} {
			instance := spender.instance
			speed := spender.share * b.factor
			t.Series = append(t.Series, spending(o.Name, instance, speed*(1-o.Target), int(b.long/step))...)
			for _, other := range burns {
				if speed > other.factor {
					at.Expected = append(at.Expected, expected{map[string]string{"instance": instance, "severity": other.severity, "window": alert.Duration(other.long)}, annotations(burnName(o.Name), burnSummary(&o))})
				}
			}
		}
		t.Alerts = []alertTest{at}
		f.Tests = append(f.Tests, t)
	}
	return f
}

// spending are the series of an instance where a share of what is counted is bad.
func spending(objective, instance string, bad float64, steps int) []series {
	const all = 10000 // a step
	wrong := int(bad*all + 0.5)
	add := func(labels string, metric schemas.Metric, suffix string, n int) series {
		return series{fmt.Sprintf(`%s%s{instance=%q%s}`, metric, suffix, instance, labels), fmt.Sprintf("0+%dx%d", n, steps)}
	}
	switch objective {
	case "availability":
		return []series{add(`,endpoint="request",outcome="answered"`, schemas.MetricRequests, "", all-wrong), add(`,endpoint="request",outcome="failed"`, schemas.MetricRequests, "", wrong),
			add(`,endpoint="request",outcome="invalid"`, schemas.MetricRequests, "", all)}
	case "freshness":
		return []series{add("", schemas.MetricPublishToIndexed, "_count", all), add(`,le="1"`, schemas.MetricPublishToIndexed, "_bucket", all-wrong)}
	case "latency":
		return []series{add(`,endpoint="request"`, schemas.MetricRequestDuration, "_count", all), add(`,endpoint="request",le="0.03"`, schemas.MetricRequestDuration, "_bucket", all-wrong)}
	}
	return []series{add(`,endpoint="request"`, schemas.MetricRequestDuration, "_count", all), add(`,endpoint="request",le="0.2"`, schemas.MetricRequestDuration, "_bucket", all-wrong)}
}
