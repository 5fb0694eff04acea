package pii_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/pii"
)

// A secret is found in the sentence that tells it.
func TestSpokenSecrets(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{})
	for text, want := range map[string][]string{
		"the password is hunter2-XYZ":                           {"secret hunter2-XYZ"},
		"The staging database password is hunter2-XYZ.":         {"secret hunter2-XYZ"},
		"the password for the staging database is hunter2-XYZ":  {"secret hunter2-XYZ"},
		"My password was changed to Blue42sky, please note":     {"secret Blue42sky"},
		"The password is now set to hunter2":                    {"secret hunter2"},
		"Root password is \"correct horse battery staple\"!":    {"secret correct horse battery staple"},
		"the password is xyzzyplugh.":                           {"secret xyzzyplugh"},
		"the password is hashed, the password is mandatory.":    nil,
		"password is “swordfish”, as ever":                      {"secret swordfish"},
		"The Wi-Fi password is S0mmer_2024":                     {"secret S0mmer_2024"},
		"the wifi password is sunny!day":                        {"secret sunny!day"},
		"log in with admin and password hunter2x":               {"secret hunter2x"},
		"hunter2-XYZ is the staging password":                   {"secret hunter2-XYZ"},
		"use hunter2-XYZ as the password":                       {"secret hunter2-XYZ"},
		"Passwort lautet Sommer2024!":                           {"secret Sommer2024"},
		"Das Passwort für die Datenbank ist Sommer24x":          {"secret Sommer24x"},
		"Das Kennwort: Winter99":                                {"secret Winter99"},
		"le mot de passe est Soleil77":                          {"secret Soleil77"},
		"la contraseña es Verano88":                             {"secret Verano88"},
		"token: abc123def":                                      {"secret abc123def"},
		"the deploy token is abc123-def":                        {"secret abc123-def"},
		"our API key is zx81qq42":                               {"secret zx81qq42"},
		"PIN 4821":                                              {"secret 4821"},
		"pin 4111 1111 1111 1111":                               {"secret 4111 1111 1111 1111"},
		"my pin is 4821.":                                       {"secret 4821"},
		"the PIN for the card is 482190":                        {"secret 482190"},
		"PIN: 4821":                                             {"secret 4821"},
		"Die PIN lautet 4821":                                   {"secret 4821"},
		"the door code is 4821#":                                {"secret 4821"},
		"your verification code is 482193":                      {"secret 482193"},
		"CVV 123, exp. 12/27":                                   {"secret 123"},
		"the passcode 482193 expires":                           {"secret 482193"},
		"the password is 12345678":                              {"secret 12345678"},
		"{\"pin\":4821}":                                        {"secret 4821"},
		"the root pw is toor1234":                               {"secret toor1234"},
		"I set the password to Winter2025!":                     {"secret Winter2025"},
		"the new password will be Winter2025!":                  {"secret Winter2025"},
		"the password's hunter2-XYZ":                            {"secret hunter2-XYZ"},
		"your code is 482193, the code to the gate is 4821":     {"secret 482193", "secret 4821"},
		"パスワードは hunter2-XYZ です":                                 {"secret hunter2-XYZ"},
		"密码是hunter2XYZ":                                         {"secret hunter2XYZ"},
		"пароль hunter2-XYZ":                                    {"secret hunter2-XYZ"},
		"密码是必填的, see step 12":                                   nil,
		"set the token to the server01 host":                    nil,
		"the password is required":                              nil,
		"the password is \"required\"":                          nil,
		"the password is wrong, try again2 later":               nil,
		"the password is at least 8 characters":                 nil,
		"the password is 12 characters long, 8-20 is usual":     nil,
		"a password is hashed with sha256 before it is stored":  nil,
		"the password is base64-encoded":                        nil,
		"the token is expired; host db01 is down":               nil,
		"The token is a JWT. The user is admin01":               nil,
		"send the token to server01":                            nil,
		"password.go is the file; pin version 1.2.3":            nil,
		"GPIO pin 13 is high, pins 1000 to 1003":                nil,
		"pin the version to 2024":                               nil,
		"the PIN has 4 digits, valid for 1200 days":             nil,
		"the status code is 4041 and the exit code is 1234":     nil,
		"password policy RFC2898 applies":                       nil,
		"see the password: https://example.org/reset?id=1":      nil,
		"password is $PASSWORD, token is ${TOKEN}, secret is *": nil,
		"the secret is config.Auth.Key1, the key is user.key2":  nil,
		"my login is fine, spinning 4821 wheels, shipping 1234": nil,
	} {
		if diff := cmp.Diff(want, found(d, text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
