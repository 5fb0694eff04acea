package jetstream

import "testing"

func TestCanReset(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"2.13.9": false, "2.14.0": true, "2.15.2": true, "3.0.0-RC.1": true, "1.4": false, "": true} {
		if got := canReset(version); got != want {
			t.Errorf("canReset(%q) = %v, want %v", version, got, want)
		}
	}
}
