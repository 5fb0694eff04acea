package pii_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/pii"
)

func newDetector(t testing.TB, cfg pii.Config) *pii.Detector {
	t.Helper()
	d, err := pii.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// found returns "type text" of each span.
func found(d *pii.Detector, text string, names ...string) []string {
	var list []string
	for _, s := range d.Find(text, names...) {
		list = append(list, string(s.Type)+" "+text[s.Start:s.End])
	}
	return list
}

// key makes a key that no vendor gave out, so that no scanner takes this file for a leak.
func key(prefix string, n int) string {
	const letters = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xYz"
	return prefix + strings.Repeat(letters, n/len(letters)+1)[:n]
}

// What typography does to a value does not hide it, and the span is of the original.
func TestTypography(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{})
	for text, want := range map[string][]string{
		"pay 4111\u00a01111\u00a01111\u00a01111 now":                      {"card 4111\u00a01111\u00a01111\u00a01111"},
		"pay 4111\u202f1111\u20091111\u202f1111 now":                      {"card 4111\u202f1111\u20091111\u202f1111"},
		"pay 4111\u200b1111\u200c1111\u200d1111\ufeff now":                {"card 4111\u200b1111\u200c1111\u200d1111\ufeff"},
		"pay 4111\u20101111\u20111111\u20131111 now":                      {"card 4111\u20101111\u20111111\u20131111"},
		"pay 4111.1111.1111.1111 now":                                     {"card 4111.1111.1111.1111"},
		"pay 4111 1111\n1111 1111 now":                                    {"card 4111 1111\n1111 1111"},
		"pay 4111-1111-\r\n  1111-1111, 12/27":                            {"card 4111-1111-\r\n  1111-1111"},
		"pay 3782 822463\n10005 12/27":                                    {"card 3782 822463\n10005"},
		"my card:\n4111\n1111\n1111\n1111\n":                              {"card 4111\n1111\n1111\n1111"},
		"4111\n1111\n1111\n1111\n":                                        nil, // a column of figures
		"4111 1111\n1111 1111\n2222 3333\n":                               nil, // a table
		"4111 1111\n\n1111 1111":                                          nil,
		"4111.1111.1111.1112":                                             nil,
		"４１１１ １１１１ １１１１ １１１１":                                             {"card ４１１１ １１１１ １１１１ １１１１"},
		"رقم ٤١١١ ١١١١ ١١١١ ١١١١":                                         {"card ٤١١١ ١١١١ ١١١١ ١١١١"},
		"۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱":                                                {"card ۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱"},
		"DE89\u00a03704\u202f0044 0532 0130 00 is mine":                   {"iban DE89\u00a03704\u202f0044 0532 0130 00"},
		"DE89 3704 0044\r\n0532 0130 00 is mine":                          {"iban DE89 3704 0044\r\n0532 0130 00"},
		"DE89.3704.0044.0532.0130.00":                                     {"iban DE89.3704.0044.0532.0130.00"},
		"SSN 078\u201105\u20111120":                                       {"ssn 078\u201105\u20111120"},
		"pass\u200bword: hunter2!x":                                       {"secret hunter2!x"},
		"ｐａｓｓｗｏｒｄ：hunter2!x":                                              {"secret hunter2!x"},
		"pass\u00adword: hunt\u200ber2!x":                                 {"secret hunt\u200ber2!x"},
		"to bob＠example.com":                                              {"email bob＠example.com"},
		"to bob@exam\u200bple.com.":                                       {"email bob@exam\u200bple.com"},
		"?to=bob%40example.com&n=1":                                       {"email bob%40example.com"},
		"<b>bob&#64;example.com</b> bob&#x40;b.de, ada&commat;b.de":       {"email bob&#64;example.com", "email bob&#x40;b.de", "email ada&commat;b.de"},
		"100%40 and A&B, lodash%404.17.21, %40types/node, it\u2019s “so”": nil,
		"postgres://app:s3cr%40tpw@db:5432/app":                           {"secret app:s3cr%40tpw"},
		"call +44\u00a020\u00a07946\u00a00958 tomorrow":                   {"phone +44\u00a020\u00a07946\u00a00958"},
		"call in 2001\u20132007":                                          nil,
		"1939\u20131945, 2019\u20132020\u20132021, 12\u00a0000\u00a0000":  nil,
	} {
		if diff := cmp.Diff(want, found(d, text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// A short value is a secret where its name says so, and a word in prose is none.
func TestShortSecrets(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{})
	for text, want := range map[string][]string{
		"password: hunter2":                        {"secret hunter2"},
		"the password: hunter2, I think":           {"secret hunter2"},
		"DB_PASSWORD=\"s3cr3t\"":                   {"secret s3cr3t"},
		"pwd=abc12":                                {"secret abc12"},
		"pwd=abc12.":                               {"secret abc12"},
		"passwd = a1b2c":                           {"secret a1b2c"},
		"passphrase: cats7!":                       {"secret cats7"},
		"api key: sk-12":                           {"secret sk-12"},
		"API key = sk-12":                          {"secret sk-12"},
		"api_key: sk-12ab":                         {"secret sk-12ab"},
		"apikey=sk-a1b2c3":                         {"secret sk-a1b2c3"},
		"API keys: " + key("", 20):                 {"secret " + key("", 20)},
		"{\"password\": \"hunter2\"}":              {"secret hunter2"},
		"the password policy is strict":            nil,
		"key: value pairs":                         nil,
		"api key: required":                        nil,
		"api key: step1 of 3":                      nil,
		"the API keys: see page 12":                nil,
		"password: required":                       nil,
		"password: 8-20 characters":                nil,
		"password: min8":                           nil,
		"passwords: 12 in all":                     nil,
		"**Password:** `hunter2-xyz9`":             {"secret hunter2-xyz9"},
		"password:\n  hunter2-xyz9":                {"secret hunter2-xyz9"},
		`{\"password\": \"hunter2-xyz9\"}`:         {"secret hunter2-xyz9"},
		"| password | hunter2-xyz9 |":              {"secret hunter2-xyz9"},
		"get-password | sha256sum":                 nil,
		"Password:\nenter the one you were given":  nil,
		"password hash: sha256":                    nil,
		"password=sha256":                          nil,
		"password: argon2id":                       nil,
		"password = $1":                            nil,
		"password = u2.pw":                         nil,
		"pwd: /srv/a1":                             nil,
		"password: 123456":                         {"secret 123456"},
		"passwords: 12345 in all":                  nil, // a count
		"the monkey: ab12c, the keyboard: sk-12ab": nil,
	} {
		if diff := cmp.Diff(want, found(d, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// A name is found however the text or the name is set.
func TestTypographyOfNames(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{})
	for _, text := range []string{"Jean-Luc Roy", "Jean\u2011Luc\u00a0Roy", "Je\u200ban-Luc Roy"} {
		for _, name := range []string{"Jean-Luc Roy", "Jean\u2010Luc Roy"} {
			if diff := cmp.Diff([]string{"person " + text}, found(d, "“"+text+"” came", name)); diff != "" {
				t.Errorf("%q: %s", name, diff)
			}
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{Types: pii.Types()})
	aws := "AKIA" + strings.ToUpper(key("", 16))
	hexKey := strings.Repeat("0f1e2d3c4b5a6978", 4)
	for text, want := range map[string][]string{
		"write to Ada.Lovelace+x@mail.example.co.uk.":    {"email Ada.Lovelace+x@mail.example.co.uk"},
		"<jörg@müller.de>, not @mention or a@b":          {"email jörg@müller.de"},
		"git clone git@github.com:acme/app.git":          nil,
		"pay 4111 1111 1111 1111 now":                    {"card 4111 1111 1111 1111"},
		"amex 3782-822463-10005":                         {"card 3782-822463-10005"},
		"card number: 5555555555554444":                  {"card 5555555555554444"},
		"one digit off: card 5555555555554445":           nil,
		"DE89 3704 0044 0532 0130 00 is mine":            {"iban DE89 3704 0044 0532 0130 00"},
		"gb82west12345698765432":                         {"iban gb82west12345698765432"},
		"DE89 3704 0044 0532 0130 01":                    nil,
		"SSN 078-05-1120, not 000-12-3456 or 666-12-345": {"ssn 078-05-1120"},
		"my social security number is 078051120":         {"ssn 078051120"},
		"from 203.0.113.7:8080 and 2001:db8::8a2e:370":   {"ip 203.0.113.7", "ip 2001:db8::8a2e:370"},
		"version 1.2.3.4 of 127.0.0.1 and ::1":           nil,
		"std::vector at 11:34:35, dead::beef":            nil,
		"see https://example.org/a_(b)?q=1#x).":          {"url https://example.org/a_(b)?q=1#x"},
		"host db-1.prod.example.com, file main.go":       {"domain db-1.prod.example.com"},
		"user.name, fmt.Print(x), README.md, os.path":    nil,
		"call me at +44 20 7946 0958 tomorrow":           {"phone +44 20 7946 0958"},
		"(415) 555-0132 or 415.555.0133 x42":             {"phone (415) 555-0132", "phone 415.555.0133 x42"},
		"Tel. 030 1234567":                               {"phone 030 1234567"},
		"mobile: 07700900123":                            {"phone 07700900123"},
		"2000-04-16 11:34:35, 16.04.2000, 1990-1999":     nil,
		"order 4155550132 took 1732199887 ns":            nil,
		"550e8400-e29b-41d4-a716-446655440000":           nil,
		"0.3333333333 of 1,234,567.89":                   nil,
		"aws " + aws:                                     {"secret " + aws},
		key("ghp_", 36) + "!":                            {"secret " + key("ghp_", 36)},
		"OPENAI_API_KEY=" + key("sk-proj-", 40):          {"secret " + key("sk-proj-", 40)},
		"password: hunter2!x":                            {"secret hunter2!x"},
		"password: required, token = getToken()":         nil,
		"client_secret=\"" + hexKey + "\"":               {"secret " + hexKey},
		"Authorization: Bearer " + hexKey:                {"secret " + hexKey},
		"postgres://app:s3cr3tpw@db:5432/app":            {"secret app:s3cr3tpw"},
		"postgres://app:${PW}@db:5432/app":               nil,
		"-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nrest": {
			"secret -----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"},
		"-----BEGIN CERTIFICATE-----\nMIIB":         nil,
		"Dr. Ada King and Mr. Doe met prof":         {"person Ada King", "person Doe"},
		"my name is Grace Hopper, I am a sailor":    {"person Grace Hopper"},
		"sha256:" + hexKey:                          nil,
		"":                                          nil,
		"\xff\xfe@\x80.com +( 1 -----BEGIN ://@:::": nil,
	} {
		if diff := cmp.Diff(want, found(d, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Without other wishes only what is personal is found.
func TestDefaultTypes(t *testing.T) {
	t.Parallel()
	text := "see https://example.org from 203.0.113.7 or write to a@example.org"
	if diff := cmp.Diff([]string{"email a@example.org"}, found(newDetector(t, pii.Config{}), text)); diff != "" {
		t.Error(diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{})
	text := "Jonas Weber met Jonas. Jonasson wrote to Jonas@example.org."
	want := []string{"person Jonas Weber", "person Jonas", "email Jonas@example.org"}
	if diff := cmp.Diff(want, found(d, text, "Jonas", "Jonas Weber", "J", "1")); diff != "" {
		t.Error(diff)
	}
}

func TestRegions(t *testing.T) {
	t.Parallel()
	text := "it was 030 901820 then"
	if got := found(newDetector(t, pii.Config{}), text); got != nil {
		t.Errorf("without a region: %v", got)
	}
	if diff := cmp.Diff([]string{"phone 030 901820"}, found(newDetector(t, pii.Config{Regions: []string{"DE"}}), text)); diff != "" {
		t.Error(diff)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []pii.Config{{Types: []pii.Type{"colour"}}, {Regions: []string{"XX"}}, {Least: -1}, {Least: 2}} {
		if _, err := pii.New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// What is made to be slow is not.
func TestTimeIsLinear(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{Types: pii.Types(), Regions: []string{"US", "DE"}})
	for _, part := range []string{"a@", "a.b", "ab:", "1-", "1 ", "+1", "(1", "ghp_", "eyJ.", "://", "://a:", "DE89", "password=", "-----BEGIN ", "Mr. A ", "+4915112345678 ", "12345 67890 "} {
		size := func(n int) time.Duration {
			best := time.Hour
			for i := range 2 {
				text := strings.Repeat(part, n/len(part)) + strings.Repeat(" ", i) // what is looked at again is remembered
				start := time.Now()
				d.Find(text)
				best = min(best, time.Since(start))
			}
			return best
		}
		short, long := size(8<<10), size(64<<10)
		if long > 50*short && long > time.Second {
			t.Errorf("%q: 8 KB take %v, 64 KB %v", part, short, long)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"a@b.de", "4111 1111 1111 1111", "+1 (415) 555-0132 ext. 7", "DE89370400440532013000", "http://u:p@h/x", "1.2.3.4 ::ffff:1.2.3.4", "-----BEGIN PRIVATE KEY-----", "password=abc12345", "４１１１\u00a01111\u200b\n1111 1111", "a%40b.de＠c.de"} {
		f.Add(s, "Ada")
	}
	d := newDetector(f, pii.Config{Types: pii.Types(), Regions: []string{"US"}, Least: 0.3})
	f.Fuzz(func(t *testing.T, text, name string) {
		spans := d.Find(text, name)
		end := 0
		for _, s := range spans {
			if s.Start < end || s.End <= s.Start || s.End > len(text) || s.Confidence < 0.3 || s.Confidence > 1 || !slices.Contains(pii.Types(), s.Type) || s.Rule == "" {
				t.Fatalf("span %+v after %d in %d bytes", s, end, len(text))
			}
			end = s.End
		}
		if again := d.Find(text, name); !slices.Equal(spans, again) {
			t.Fatalf("%v, then %v", spans, again)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	line := "Jonas renewed the certificate of the gateway at 09:00 and restarted both proxies; see ticket 4711.\n"
	text := strings.Repeat(line, 40<<10/len(line))
	typeset := strings.NewReplacer(" the ", "\u00a0the ", "; ", "\u200b\u2009– ").Replace(text)
	for name, c := range map[string]struct {
		cfg  pii.Config
		text string
	}{"personal": {pii.Config{}, text}, "all": {pii.Config{Types: pii.Types()}, text}, "typeset": {pii.Config{}, typeset}} {
		d := newDetector(b, c.cfg)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				d.Find(c.text)
			}
		})
	}
}

func ExampleDetector_Find() {
	d, err := pii.New(pii.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := "Write to ada@example.org or call +44 20 7946 0958."
	for _, s := range d.Find(text) {
		fmt.Println(s.Type, text[s.Start:s.End])
	}
	// Output:
	// email ada@example.org
	// phone +44 20 7946 0958
}
