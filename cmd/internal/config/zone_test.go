package config_test

import (
	"strings"
	"testing"

	"satchel/cmd/internal/config"
)

// A zone that is none is refused by the name of the flag and of the variable.
func TestZone(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "UTC", "Asia/Tokyo": "Asia/Tokyo", "+09:00": "+09:00"} {
		if zone, err := (&config.Settings{TZ: name}).Zone(); err != nil || zone.String() != want {
			t.Errorf("%q: %v, %v", name, zone, err)
		}
	}
	for _, name := range []string{"Mars/Olympus", "+24:00", "Local"} {
		if _, err := (&config.Settings{TZ: name}).Zone(); err == nil || !strings.Contains(err.Error(), "--tz (SATCHEL_TZ)") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
