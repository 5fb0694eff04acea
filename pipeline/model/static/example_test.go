package static_test

import (
	"context"
	"fmt"
	"log"

	"satchel/pipeline/model/static"
)

func Example() {
	embedder, err := static.New()
	if err != nil {
		log.Fatal(err)
	}
	vectors, err := embedder.Embed(context.Background(), []string{
		"What pets does Anna have?",
		"Anna: We adopted a puppy last weekend.",
		"Ben: The invoice is due on Friday.",
	})
	if err != nil {
		log.Fatal(err)
	}
	question := vectors[0]
	for _, v := range vectors[1:] {
		var cosine float32
		for i := range v {
			cosine += v[i] * question[i]
		}
		fmt.Println(cosine > 0.3)
	}
	// Output:
	// true
	// false
}
