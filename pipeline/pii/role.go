package pii

import (
	"slices"
	"strings"

	"satchel/pipeline/language"
)

// role is what a word says of a name beside it. A word may have several.
type role uint16

const (
	title     role = 1 << iota // announces a person
	particle                   // stands within a name
	thing                      // what is named is a street, a company, a place
	calendar                   // is a day, a month or a people, and no name
	copula                     // stands between what introduces a name and the name
	subject                    // is introduced
	caller                     // names somebody, or speaks to them
	relation                   // says what somebody is to another
	companion                  // stands before people and things alike
	within                     // stands before places
	article
	does   // persons do it
	degree // stands behind a name
)

var roles = roleTable()

// roleOf returns the roles of a word, whatever its case.
func roleOf(word string) role {
	var buf [16]byte
	if len(word) > len(buf) {
		return 0
	}
	for i := range len(word) {
		buf[i] = lower(word[i])
	}
	return roles[string(buf[:len(word)])]
}

func roleTable() map[string]role {
	table := map[string]role{}
	for _, line := range []struct {
		role  role
		words string
	}{
		{title, "mr mrs ms miss dr prof professor sir madam mx herr frau monsieur madame captain judge senator president minister sergeant lieutenant father sister uncle aunt"},
		{particle, "de da di del van von der den la le el al bin ibn dos du zu y ter"},
		{thing, `street st road rd avenue ave lane drive boulevard blvd court place square way highway inc ltd llc corp corporation company co gmbh ag plc group holdings
			partners associates sons university college school institute hospital clinic bank hotel restaurant club orchestra band museum park river lake mountain island
			islands bay beach county city town village district state airport station bridge tower house hall center centre church foundation association society union
			party league team award prize weekly daily times magazine news tv records studios technologies technology systems solutions services software labs media capital
			api server database protocol project framework theorem effect algorithm method model test syndrome disease act law`},
		{calendar, "english american french german god march " + strings.Join(slices.Collect(language.TimeNames()), " ")},
		{copula, "is am i'm s"},
		{subject, "name this it he she who names here that"},
		{caller, "named called dear hi hello hey thanks meet says said told asked calls me him her starring name"},
		{relation, `son daughter kid child brother sister wife husband mother father mom dad friend partner boss manager colleague customer patient producer director author
			actor actress singer commenter founder founders ceo cto engineer agent user writer teacher doctor lawyer neighbour neighbor cousin maiden ex early`},
		{companion, "by with and or tell ask met for about to from call contact than why that if when"},
		{within, "in at near of via"},
		{article, "the a an this each every some no our your"},
		{does, `says said told asked asks explained thinks thought wrote works lives lived went likes loves wants added replied called met joined agreed renewed fixed listed
			points and gave has had is was will would came`},
		{degree, "md phd dds dvm jr sr ii iii esq"},
	} {
		for _, word := range strings.Fields(line.words) {
			table[word] |= line.role
		}
	}
	return table
}
