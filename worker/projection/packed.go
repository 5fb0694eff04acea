package projection

import (
	"time"

	"github.com/goccy/go-json"
)

// packed is what counts of a schemas.ContextPack once it is logged.
type packed struct {
	CreatedAt time.Time `json:"created_at"`
	Sections  []struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	} `json:"sections"`
}

// readPacked returns when a logged pack was made and the ids of the items it shows.
func readPacked(data []byte) (at time.Time, ids []string, err error) {
	var p packed
	if err := json.Unmarshal(data, &p); err != nil {
		return time.Time{}, nil, err
	}
	for _, section := range p.Sections {
		for _, item := range section.Items {
			ids = append(ids, item.ID)
		}
	}
	return p.CreatedAt, ids, nil
}
