package config

import (
	"strings"
	"testing"

	"satchel/pipeline/scope"
)

func TestMaskHidesWhatAnAddressHolds(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"http://h/v1?key=X,Z":                       "http://h/v1?key=***",
		"http://h/v1?api_key=Y&model=m#token=Z":     "http://h/v1?api_key=***&model=***#token=***",
		"https://u:p@h/v1?key=a=b":                  "https://***@h/v1?key=***",
		"nats://tok@a:1,nats://u:p@b:2?k=v":         "nats://***@a:1,nats://***@b:2?k=***",
		"postgres://u:p@h/db?password=x&sslmode=no": "postgres://***@h/db?password=***&sslmode=***",
		"host=h password='a b' user=u":              "host=h password=*** user=u",
		"http://h/v1":                               "http://h/v1",
		"what = this?":                              "what = this?",
	} {
		if got := Mask(value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}

func TestTheTenantOfDeadLettersIsRefusedByName(t *testing.T) {
	t.Parallel()
	if err := scope.CheckTenant("_"); err == nil || !strings.Contains(err.Error(), "kept for dead letters") {
		t.Errorf("tenant _: %v", err)
	}
	if err := scope.CheckTenant("a.b"); err == nil || !strings.Contains(err.Error(), "must match") {
		t.Errorf("tenant a.b: %v", err)
	}
}
