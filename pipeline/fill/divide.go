package fill

// Divide divides a budget by weights. None gets more than it needs while another needs more; what none needs stays
// undivided. The shares are at least 0 and add up to at most the budget. Whole shares are rounded down.
func Divide[N int | float64](budget N, weights, needs []N) []N {
	shares := make([]N, len(weights))
	isOpen := func(g int) bool { return weights[g] > 0 && needs[g] > shares[g] }
	for left := max(budget, 0); left > 0; {
		total := N(0)
		for g := range weights {
			if isOpen(g) {
				total += weights[g]
			}
		}
		if total == 0 {
			break
		}
		round := left
		for g := range weights {
			if isOpen(g) && needs[g] <= round*weights[g]/total {
				shares[g] = needs[g]
				left -= needs[g]
			}
		}
		if left < round {
			continue
		}
		for g := range weights {
			if isOpen(g) {
				shares[g] = round * weights[g] / total
			}
		}
		break
	}
	return shares
}
