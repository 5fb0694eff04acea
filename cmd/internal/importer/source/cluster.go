package source

import (
	"cmp"
	"math"
	"slices"

	"satchel/pipeline/infra/vecmath"
)

// cluster is a group of vectors. Its numbers are places in the list that was clustered.
type cluster struct {
	leader     int     // the member with the most neighbours when the cluster was made
	members    []int   // ascending, the leader among them
	medoid     int     // the member nearest to the centroid
	similarity float64 // cosine of the medoid and the centroid
}

// findClusters clusters unit-length vectors (zero ones are in none): as long as there is a vector
// with minSize−1 neighbours, the one with the most makes a cluster with them, and all of
// them are taken out. Neighbours have a cosine of at least threshold. This is the
// algorithm of Daura et al. (Angewandte Chemie 38, 1999, "GROMOS"); ties go to the
// earlier vector, so that the result depends on nothing but the list. It takes time in
// the square of the list and memory in its length.
func findClusters(vectors [][]float32, threshold float64, minSize int) []cluster {
	near := func(i, j int) bool { return vecmath.Cosine(vectors[i], vectors[j]) >= threshold }
	var open []int
	for i, v := range vectors {
		if vecmath.Cosine(v, v) > 0 {
			open = append(open, i)
		}
	}
	neighbours := make([]int, len(vectors))
	for at, i := range open {
		for _, j := range open[at+1:] {
			if near(i, j) {
				neighbours[i]++
				neighbours[j]++
			}
		}
	}
	var clusters []cluster
	for len(open) > 0 {
		leader := slices.MaxFunc(open, func(a, b int) int { return cmp.Compare(neighbours[a], neighbours[b]) })
		if neighbours[leader]+1 < max(minSize, 1) {
			break
		}
		var members, rest []int
		for _, i := range open {
			if i == leader || near(i, leader) {
				members = append(members, i)
			} else {
				rest = append(rest, i)
			}
		}
		for _, gone := range members {
			for _, i := range rest {
				if near(i, gone) {
					neighbours[i]--
				}
			}
		}
		medoid, similarity := findMedoid(vectors, members)
		clusters = append(clusters, cluster{leader: leader, members: members, medoid: medoid, similarity: similarity})
		open = rest
	}
	return clusters
}

// findMedoid returns the member nearest to the centroid, the earliest of equals, and their cosine.
func findMedoid(vectors [][]float32, members []int) (int, float64) {
	centroid := make([]float64, len(vectors[members[0]]))
	for _, m := range members {
		for i, x := range vectors[m] {
			centroid[i] += float64(x)
		}
	}
	var norm float64
	for _, x := range centroid {
		norm += x * x
	}
	norm = cmp.Or(math.Sqrt(norm), 1)
	best := members[0]
	similarity := math.Inf(-1)
	for _, m := range members {
		var s float64
		for i, x := range vectors[m] {
			s += float64(x) * centroid[i]
		}
		if s/norm > similarity+sameSimilarity {
			best = m
			similarity = s / norm
		}
	}
	return best, min(1, max(0, similarity))
}
