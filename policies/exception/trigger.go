package exception

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// ErrTrigger is returned for a text that is no rollback trigger.
var ErrTrigger = errors.New("rollback trigger must be COUNTER>=N or COUNTER>=N/DURATION, with COUNTER one of uses, denials, injections, anomalies, anomaly.NAME or an event such as request.refused")

// Trigger is a condition over the log that ends an exception.
type Trigger struct {
	Counter string
	Least   int           // it fires when the counter has reached this
	Within  time.Duration // over the last; 0: since the registration
}

// ParseTrigger reads a trigger.
func ParseTrigger(text string) (Trigger, error) {
	counter, rest, ok := strings.Cut(text, ">=")
	number, within, windowed := strings.Cut(rest, "/")
	t := Trigger{Counter: strings.TrimSpace(counter)}
	least, err := strconv.Atoi(strings.TrimSpace(number))
	if !ok || err != nil || least < 1 || !isCountable(t.Counter) {
		return Trigger{}, ErrTrigger
	}
	t.Least = least
	if windowed {
		if t.Within, err = time.ParseDuration(strings.TrimSpace(within)); err != nil || t.Within <= 0 {
			return Trigger{}, fmt.Errorf("%w: the duration is like 10m or 1h30m", ErrTrigger)
		}
	}
	return t, nil
}

// leastWindow is the shortest time that a trigger counts over: what happens in less is
// counted with what stands around it in the log.
const leastWindow = time.Minute

// checkCanFire refuses a trigger that can practically never fire: of an anomaly that the
// sentinel does not know, or over less than a minute.
func (t Trigger) checkCanFire() error {
	if name, ok := strings.CutPrefix(t.Counter, "anomaly."); ok && !slices.Contains(schemas.Anomalies(), name) {
		return fmt.Errorf("%w: the anomalies are %s", ErrTrigger, strings.Join(schemas.Anomalies(), ", "))
	}
	if t.Within != 0 && t.Within < leastWindow {
		return fmt.Errorf("%w: the duration is a minute or more", ErrTrigger)
	}
	return nil
}

// String returns the trigger as ParseTrigger reads it.
func (t Trigger) String() string {
	s := t.Counter + ">=" + strconv.Itoa(t.Least)
	if t.Within > 0 {
		s += "/" + t.Within.String()
	}
	return s
}

func isCountable(counter string) bool {
	switch counter {
	case "uses", "denials", "injections", "anomalies":
		return true
	}
	if name, ok := strings.CutPrefix(counter, "anomaly."); ok {
		return schemas.ValidToken(name)
	}
	return slices.Contains(schemas.EventTypes(), eventType(counter))
}

func eventType(counter string) string { return "io.satchel." + counter + ".v1" }

// countEntry returns how much an entry adds to the counter; exception is whose trigger it is.
func (t Trigger) countEntry(e *eventlog.Entry, exception string) int {
	switch t.Counter {
	case "uses":
		if used, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionUsed); ok && used.ID == exception {
			return 1
		}
		return 0
	case "denials":
		d, _ := dataOf[schemas.PolicyDecision](e, schemas.TypePolicyDecided)
		return countMatching(d.Verdicts, func(v schemas.Verdict) bool { return !v.Allow })
	case "injections":
		d, _ := dataOf[schemas.DropReport](e, schemas.TypeContextDropped)
		return countMatching(d.Drops, func(d schemas.Drop) bool { return d.Reason == schemas.DropInjection })
	}
	if t.Counter == "anomalies" || strings.HasPrefix(t.Counter, "anomaly.") {
		h, _ := dataOf[schemas.Handover](e, schemas.TypeRoleHandedOver)
		name := strings.TrimPrefix(t.Counter, "anomaly.")
		return countMatching(h.Findings, func(f schemas.Finding) bool { return name == "anomalies" || f.Anomaly == name })
	}
	if e.Type == eventType(t.Counter) {
		return 1
	}
	return 0
}

func countMatching[T any](list []T, is func(T) bool) int {
	n := 0
	for _, v := range list {
		if is(v) {
			n++
		}
	}
	return n
}

// dataOf reads the data of an entry of a type; false for another type and for data that
// cannot be read or was erased.
func dataOf[T any](e *eventlog.Entry, eventType string) (T, bool) {
	var v T
	if e.Type != eventType || e.Erased {
		return v, false
	}
	err := json.Unmarshal(e.Data, &v)
	return v, err == nil
}
