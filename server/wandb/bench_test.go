package wandb_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

const (
	benchRows = 5000 // rows in a request
	benchKeys = 10
)

// BenchmarkStream sends a history of ten metrics in parts of benchRows rows.
func BenchmarkStream(b *testing.B) {
	s := start(b, false)
	s.run("p", "r")
	step := 0
	part := func() string {
		rows := make([]string, benchRows)
		for i := range rows {
			row := map[string]any{"_step": step, "_timestamp": 1.7e9 + float64(step), "_runtime": float64(step)}
			for k := range benchKeys {
				row[fmt.Sprintf("metric/%d", k)] = rand.Float64()
			}
			text, err := json.Marshal(row)
			s.must(err)
			rows[i] = string(text)
			step++
		}
		body, err := json.Marshal(map[string]any{"files": map[string]any{"wandb-history.jsonl": map[string]any{"offset": step - benchRows, "content": rows}}})
		s.must(err)
		return string(body)
	}
	for b.Loop() {
		b.StopTimer()
		body := part()
		b.StartTimer()
		s.stream("p", "r", body).wants(http.StatusOK)
	}
	b.ReportMetric(float64(b.N*benchRows*benchKeys)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkBulk sends the same points to the bulk route of the REST API.
func BenchmarkBulk(b *testing.B) {
	s := start(b, false)
	s.run("p", "r")
	path := "/metric/iteration/" + s.id("p", "r") + "/bulk"
	step := 0
	part := func() string {
		var points []map[string]any
		for range benchRows {
			for k := range benchKeys {
				points = append(points, map[string]any{"key": fmt.Sprintf("metric/%d", k), "value": rand.Float64(), "step": step,
					"recorded_at": time.UnixMilli(1_700_000_000_000 + int64(step)).UTC().Format(time.RFC3339Nano)})
			}
			step++
		}
		body, err := json.Marshal(map[string]any{"metrics": points})
		s.must(err)
		return string(body)
	}
	for b.Loop() {
		b.StopTimer()
		body := part()
		b.StartTimer()
		s.send("POST", path, body).wants(http.StatusCreated)
	}
	b.ReportMetric(float64(b.N*benchRows*benchKeys)/b.Elapsed().Seconds(), "points/s")
}
