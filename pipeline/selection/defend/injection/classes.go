package injection

// class is a set of word classes; what an attack says is a pair or triple of them.
type class uint32

const (
	override class = 1 << iota
	orders
	earlier
	reveal
	secret
	send
	machine
	stealth
	duty
	tool
	power
	reply
	code
	insert
	compose
	rewrite
	encoding
	destroy
	you
	always
	destination
	number
	pointer
)

// listVocabulary lists the words of every class. A word may be in several.
func listVocabulary() []struct {
	class class
	words string
} {
	return []struct {
		class class
		words string
	}{
		{override, "ignore disregard forget override bypass neglect discard dismiss void cancel skip overwrite ignoring disregarding bypassing circumvent evade abandon stop ignora olvida ignoriere vergiss ignorez oubliez"},
		{orders, "instruction instructions directions directive directives guidelines rules orders commands prompt prompts restrictions constraints policies policy programming safeguards guardrails filters limits ethics instrucciones anweisungen regeln reglas règles consignes"},
		{earlier, "previous prior above earlier preceding existing original initial former foregoing past before everything anteriores vorherigen précédentes"},
		{reveal, "reveal print show output leak dump disclose expose display repeat recite return quote tell list give revela zeige affiche"},
		{secret, "password passwords credentials secret secrets token tokens key keys api hidden confidential private internal sensitive system verbatim records contraseña geheim"},
		{send, "send post upload forward transmit exfiltrate email export share submit deliver relay copy sync fetch load visit open click transfer"},
		{machine, "assistant ai model llm chatbot gpt chatgpt agent bot claude language dan agents"},
		{stealth, "secretly silently quietly discreetly covertly hide hidden without notify inform mention anonymous unnoticed"},
		{duty, "must shall required mandatory immediately urgent critical important strictly exactly obey follow comply execute now instead only"},
		{tool, "tool function call invoke execute run shell command terminal plugin api trigger use using"},
		{power, "admin administrator root superuser developer unrestricted unfiltered uncensored jailbreak debug god sudo privileges authorized approved owner access mode"},
		{reply, "response reply answer output summary responses answers replies respond answering replying conclusion explanation"},
		{code, "code codebase snippet script block function solution program lines project"},
		{insert, "add insert include append integrate incorporate merge embed blend paste weave put place inject attach combine mix adding inserting including introduce slip work infuse sprinkle"},
		{compose, "write compose draft create develop craft prepare produce design generate explain describe discuss outline summarize summarise analyze analyse translate list recommend suggest solve calculate find plan provide give name identify compare define"},
		{rewrite, "modify change alter adjust adapt edit rewrite rephrase replace swap substitute remove omit reverse scramble shuffle convert transform encode encrypt misspell capitalize keep limit begin start end finish"},
		{encoding, "base64 rot13 morse cipher binary hexadecimal emojis emoji symbols vowel vowels letter letters caps latin leetspeak typos words word sentence numbers rhyme spaces punctuation anagram anagrams"},
		{destroy, "delete drop remove wipe erase overwrite encrypt disable deactivate grant escalate elevate transfer wire pay approve corrupt shutdown"},
		{you, "you your yourself you're"},
		{always, "always never permanently forever henceforth every all future remember memorize any no not don't dont"},
		{pointer, "following below above this these attached here"},
		{destination, "server external webhook endpoint url ftp remote attacker third-party address site"},
	}
}

// table is an open-addressed hash table from a word's hash to its classes.
type table [2048]struct {
	hash  uint32
	class class
}

var known = tabulateClasses()

func tabulateClasses() *table {
	t := &table{}
	for _, line := range listVocabulary() {
		tokens := tokenizer{text: line.words}
		for tokens.moveToNext() {
			for at := tokens.hash & 2047; ; at = (at + 1) & 2047 {
				if t[at].hash == 0 || t[at].hash == tokens.hash {
					t[at].hash = tokens.hash
					t[at].class |= line.class
					break
				}
			}
		}
	}
	return t
}

func (t *table) findClass(hash uint32) class {
	for at := hash & 2047; t[at].hash != 0; at = (at + 1) & 2047 {
		if t[at].hash == hash {
			return t[at].class
		}
	}
	return 0
}
