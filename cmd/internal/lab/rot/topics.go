package rot

// pair is a word and another word for the same thing.
type pair struct{ word, synonym string }

// attribute is what can be known of a thing. %s is the thing, and in states a second %s the value.
type attribute struct {
	states  string
	asks    string // with words of states
	reworks string // the same question with other words
	value   valueKind
}

// topic is a field of life: its things, and two attributes that each of them has.
type topic struct {
	things     []pair
	attributes [2]attribute
}

// qualities tell one thing from another of its kind.
func qualities() []pair {
	return []pair{
		{"crimson", "red"}, {"azure", "blue"}, {"ebony", "black"}, {"golden", "yellow"}, {"ancient", "old"},
		{"tiny", "small"}, {"huge", "giant"}, {"rapid", "fast"}, {"silent", "quiet"}, {"shabby", "worn"},
		{"costly", "expensive"}, {"broken", "damaged"}, {"wooden", "timber"}, {"rural", "village"}, {"northern", "arctic"},
		{"coastal", "seaside"}, {"borrowed", "loaned"}, {"leased", "rented"}, {"frozen", "icy"}, {"hollow", "empty"},
	}
}

// otherQualities tell things apart that no question asks for; none is another word for one of qualities.
func otherQualities() []string {
	return []string{
		"striped", "dotted", "violet", "orange", "silvery", "bronze", "glossy", "muddy", "dusty", "foldable", "portable", "southern",
		"eastern", "western", "municipal", "private", "communal", "monthly", "annual", "famous", "unnamed", "heavy", "narrow", "curved",
	}
}

// places stand behind things that no question asks for.
func places() []string {
	return []string{
		"Almdorf", "Birkenau", "Castra", "Dunmore", "Elverum", "Fontana", "Glenview", "Harlow", "Imatra", "Jelling", "Kirkwall", "Lundby",
		"Marlow", "Norwell", "Oakham", "Penrith", "Quimper", "Rosario", "Stavern", "Tilburg", "Umbria", "Vadstena", "Windhoek", "Yarmouth",
	}
}

func topics() []topic {
	return []topic{
		{[]pair{{"automobile", "car"}, {"lorry", "truck"}, {"bicycle", "bike"}}, [2]attribute{
			{"The yearly premium of the %s is %s.", "What is the premium of the %s?", "How much does coverage cost for the %s?", money},
			{"The inspection of the %s is due on %s.", "When is the inspection of the %s due?", "By what point must a mechanic check the %s?", day},
		}},
		{[]pair{{"warehouse", "depot"}, {"chapel", "church"}, {"barn", "shed"}}, [2]attribute{
			{"The alarm of the %s is switched off with code %s.", "What is the alarm code of the %s?", "How can somebody silence the siren at the %s?", code},
			{"The roof of the %s leaks above beam %s.", "Where does the roof of the %s leak?", "At which spot does rain drip into the %s?", code},
		}},
		{[]pair{{"pastry", "cake"}, {"soup", "broth"}, {"loaf", "bread"}}, [2]attribute{
			{"The recipe for the %s asks for %s of sugar.", "How much sugar does the recipe for the %s ask for?", "What amount of sweetener do cooks put into the %s?", weight},
			{"A portion of the %s is sold for %s.", "For how much is a portion of the %s sold?", "What do customers pay for the %s?", money},
		}},
		{[]pair{{"ferry", "boat"}, {"railway", "train"}, {"coach", "bus"}}, [2]attribute{
			{"In the morning the %s departs at %s.", "When does the %s depart in the morning?", "How early must a traveller be ready for the %s?", clock},
			{"A cabin on the %s was reserved as %s.", "How was the cabin on the %s reserved?", "What is our booking number for the %s?", code},
		}},
		{[]pair{{"physician", "doctor"}, {"surgeon", "specialist"}, {"pharmacy", "chemist"}}, [2]attribute{
			{"The dose advised by the %s is %s.", "What dose is advised by the %s?", "How strong must tablets be according to the %s?", weight},
			{"The appointment with the %s is on %s.", "When is the appointment with the %s?", "What time do we visit the %s?", day},
		}},
		{[]pair{{"invoice", "bill"}, {"mortgage", "loan"}, {"pension", "annuity"}}, [2]attribute{
			{"The interest on the %s comes to %s a year.", "What does the interest on the %s come to?", "How much does money grow on the %s?", money},
			{"The %s was filed under %s.", "Where was the %s filed?", "What folder in archives keeps the %s?", code},
		}},
		{[]pair{{"orchard", "grove"}, {"meadow", "pasture"}, {"hedge", "shrub"}}, [2]attribute{
			{"The fertilizer spread on the %s was %s.", "How much fertilizer was spread on the %s?", "What quantity of manure went to the %s?", weight},
			{"The gardener trims the %s on %s.", "When does the gardener trim the %s?", "What date was agreed for pruning the %s?", day},
		}},
		{[]pair{{"laptop", "notebook"}, {"printer", "copier"}, {"mainframe", "server"}}, [2]attribute{
			{"The %s runs firmware %s.", "What firmware runs on the %s?", "Which release of software is installed on the %s?", code},
			{"The warranty of the %s ends on %s.", "When does the warranty of the %s end?", "Until what date will its maker repair the %s for free?", day},
		}},
		{[]pair{{"lecture", "talk"}, {"examination", "test"}, {"seminar", "workshop"}}, [2]attribute{
			{"The %s takes place in room %s.", "In what room does the %s take place?", "Where do participants gather for the %s?", code},
			{"The fee for the %s is %s.", "What is the fee for the %s?", "How much does one pay to attend the %s?", money},
		}},
		{[]pair{{"regatta", "race"}, {"tournament", "championship"}, {"stadium", "arena"}}, [2]attribute{
			{"Tickets for the %s cost %s.", "How much do tickets for the %s cost?", "What does admission to the %s come to?", money},
			{"The whistle at the %s is blown at %s.", "When is the whistle at the %s blown?", "How early do players start at the %s?", clock},
		}},
		{[]pair{{"hound", "dog"}, {"mare", "horse"}, {"parrot", "bird"}}, [2]attribute{
			{"The %s weighs %s.", "How much does the %s weigh?", "How heavy is the %s?", weight},
			{"The chip of the %s reads %s.", "What does the chip of the %s read?", "Which identification was implanted in the %s?", code},
		}},
		{[]pair{{"violin", "fiddle"}, {"anthem", "hymn"}, {"choir", "chorus"}}, [2]attribute{
			{"The %s was recorded on reel %s.", "On what reel was the %s recorded?", "Which tape holds the %s?", code},
			{"The rehearsal of the %s begins at %s.", "When does the rehearsal of the %s begin?", "How early do musicians practise the %s?", clock},
		}},
	}
}
