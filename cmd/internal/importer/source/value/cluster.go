package value

import (
	"cmp"
	"math"
	"slices"
)

// Cluster is a group of vectors. Its numbers are places in the list that was clustered.
type Cluster struct {
	Leader     int     // the member with the most neighbours when the cluster was made
	Members    []int   // ascending, the leader among them
	Medoid     int     // the member nearest to the centroid
	Similarity float64 // cosine of the medoid and the centroid
}

// Find clusters unit-length vectors (zero ones are in none): as long as there is a vector
// with minSize−1 neighbours, the one with the most makes a cluster with them, and all of
// them are taken out. Neighbours have a cosine of at least threshold. This is the
// algorithm of Daura et al. (Angewandte Chemie 38, 1999, "GROMOS"); ties go to the
// earlier vector, so that the result depends on nothing but the list. It takes time in
// the square of the list and memory in its length.
func Find(vectors [][]float32, threshold float64, minSize int) []Cluster {
	open := make([]int, 0, len(vectors))
	for i, v := range vectors {
		if dot(v, v) > 0 {
			open = append(open, i)
		}
	}
	neighbours := make([]int, len(vectors))
	for at, i := range open {
		for _, j := range open[at+1:] {
			if dot(vectors[i], vectors[j]) >= threshold {
				neighbours[i]++
				neighbours[j]++
			}
		}
	}
	var clusters []Cluster
	for len(open) > 0 {
		leader := slices.MaxFunc(open, func(a, b int) int { return cmp.Compare(neighbours[a], neighbours[b]) })
		if neighbours[leader]+1 < max(minSize, 1) {
			break
		}
		c := Cluster{Leader: leader}
		rest := open[:0:0]
		for _, i := range open {
			if i == leader || dot(vectors[i], vectors[leader]) >= threshold {
				c.Members = append(c.Members, i)
			} else {
				rest = append(rest, i)
			}
		}
		for _, gone := range c.Members {
			for _, i := range rest {
				if dot(vectors[i], vectors[gone]) >= threshold {
					neighbours[i]--
				}
			}
		}
		c.Medoid, c.Similarity = medoid(vectors, c.Members)
		clusters, open = append(clusters, c), rest
	}
	return clusters
}

// medoid returns the member nearest to the centroid, the earliest of equals.
func medoid(vectors [][]float32, members []int) (int, float64) {
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
	norm = math.Sqrt(norm)
	best, similarity := members[0], -1.0
	for _, m := range members {
		var s float64
		for i, x := range vectors[m] {
			s += float64(x) * centroid[i]
		}
		if norm > 0 {
			s /= norm
		}
		if s > similarity+1e-9 {
			best, similarity = m, s
		}
	}
	return best, min(1, max(0, similarity))
}

func dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float32
	n := min(len(a), len(b))
	i := 0
	for ; i+4 <= n; i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < n; i++ {
		s0 += a[i] * b[i]
	}
	return float64(s0 + s1 + s2 + s3)
}
