package hook_test

import (
	"context"
	"fmt"
	"log"

	"satchel/emitters"
	"satchel/emitters/hook"
	"satchel/schemas"
)

// printed shows what would be published; an *emitters.Emitter publishes it.
type printed struct{}

func (printed) Remember(_ context.Context, m schemas.MemoryItem, _ *emitters.Options) (schemas.Receipt, error) {
	fmt.Printf("%s %s: %s\n", m.Type, m.Category, m.Content.Text())
	return schemas.Receipt{Level: schemas.ReceiptAccepted}, nil
}

func hooks() *hook.Hooks {
	h, err := hook.New(hook.Config{Emitter: printed{}, Agent: "helper", Session: "chat-7"})
	if err != nil {
		log.Fatal(err)
	}
	return h
}

// A chat assistant remembers every turn by wrapping the function that answers.
func Example() {
	assistant := hooks().Assistant()
	reply := assistant.Reply(func(context.Context, string, string) (string, error) { return "Noted.", nil })
	if _, err := reply(context.Background(), "Mara", "Write to me at mara@example.org, please."); err != nil {
		log.Fatal(err)
	}
	if _, err := assistant.Preference(context.Background(), "Mara", "Mara wants short answers."); err != nil {
		log.Fatal(err)
	}
	// Output:
	// episodic turn: Write to me at [email], please.
	// episodic turn: Noted.
	// semantic preference: Mara wants short answers.
}

func ExamplePlanner() {
	planner := hooks().Planner()
	if _, err := planner.PlanMade(context.Background(), "renew the certificate", []string{"order it", "reload the proxies"}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// procedural plan: Plan for: renew the certificate
	// 1. order it
	// 2. reload the proxies
}

func ExampleRetriever() {
	if _, err := hooks().Retriever().GapFound(context.Background(), "who owns the gateway?"); err != nil {
		log.Fatal(err)
	}
	// Output: semantic gap: Not known here: who owns the gateway?
}

func ExampleVerifier() {
	if _, err := hooks().Verifier().Checked(context.Background(), "the certificate was renewed", true, []string{"note-4"}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// episodic check: Checked: the certificate was renewed
	// It holds.
}

func ExampleSynthesizer() {
	if _, err := hooks().Synthesizer().FactEstablished(context.Background(), "Jonas renews the certificates.", []string{"note-4"}, 0.9); err != nil {
		log.Fatal(err)
	}
	// Output: semantic fact: Jonas renews the certificates.
}

func ExampleCoder() {
	run := hooks().Coder().Command(func(context.Context, string) (string, int, error) { return "ok  satchel/schemas", 0, nil })
	if _, _, err := run(context.Background(), "go test ./schemas"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// episodic command: $ go test ./schemas
	// exit code 0
	// ok  satchel/schemas
}

func ExampleHealer() {
	if _, err := hooks().Healer().FlakeKnown(context.Background(), "TestLogin", "The mail server is slow on Mondays.", 0.2); err != nil {
		log.Fatal(err)
	}
	// Output: semantic flake: Test TestLogin is flaky: it fails 20 % of the time. The mail server is slow on Mondays.
}
