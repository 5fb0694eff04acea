package config

import (
	"errors"
	"strings"
	"testing"
)

func TestTwoNamesOfOneSetting(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		set  map[string]string
		want string
	}{
		{map[string]string{"SATCHEL_NATS_URL": "a", "NATS_URL": "s3cret"}, "SATCHEL_NATS_URL and NATS_URL are two names of one setting"},
		{map[string]string{"SATCHEL_RANK_PROFILE": "seed", "H4R_PROFILE": "recent"}, "SATCHEL_RANK_PROFILE and H4R_PROFILE"},
		{map[string]string{"SATCHEL_MAX_TOKENS": "1", "SCS_MAX_TOKENS_DEFAULT": "2"}, "SATCHEL_MAX_TOKENS and SCS_MAX_TOKENS_DEFAULT"},
		{map[string]string{"SATCHEL_NATS_URL": "a", "NATS_URL": "a"}, ""},
		{map[string]string{"SATCHEL_NATS_URL": "", "NATS_URL": "a"}, ""},
		{map[string]string{"SATCHEL_NATS_PORT": "tcp://10.0.0.1:4222", "NATS_PORT": "4222"}, ""},
	} {
		err := (&Settings{}).CheckVariables(func(name string) string { return tc.set[name] })
		var usage *UsageError
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%v: %v", tc.set, err)
		case tc.want != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%v: %v, want %q", tc.set, err, tc.want)
		}
	}
}
