package rest

import (
	"context"
	"net/http"
	"net/url"
)

// Diagnosis explains the end of a run. It has no findings if nothing about the run is unusual.
type Diagnosis struct {
	Outcome    string    `json:"outcome"` // running, succeeded, failed, killed or lost
	Findings   []Finding `json:"findings"`
	Alike      []string  `json:"alike"` // ids of the newest runs that failed in the same way
	AlikeTotal int       `json:"alike_total"`
}

// Finding is a sentence of a diagnosis.
type Finding struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Key  string `json:"key"`  // name of the metric or parameter, "" for none
	Step *int64 `json:"step"` // step of the metric, nil for none
}

// Diagnosis returns the diagnosis of a run. It returns nil if the server is too old for diagnoses,
// or did not finish the diagnosis in time.
func (c *Client) Diagnosis(ctx context.Context, run string) (*Diagnosis, error) {
	var d Diagnosis
	err := c.do(ctx, http.MethodGet, "/iteration/"+url.PathEscape(run)+"/diagnosis", nil, nil, &d)
	if Is(err, "NOT_FOUND") || Is(err, "INVALID_PAYLOAD") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &d, nil
}
