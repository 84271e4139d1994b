package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestBulk(t *testing.T) {
	a := start(t)
	i := a.running()
	path := "/metric/iteration/" + i
	a.do("POST", path+"/bulk", `{"metrics":[
		{"key":"loss","value":0.5,"step":7,"recorded_at":"2026-11-21T10:00:00+01:00"},
		{"key":"acc","value":"NaN"},
		{"value":"-Infinity","key":"loss","step":null,"recorded_at":null},
		{"key":"loss","value":1,"step":3.0},
		{"key":"acc","value":2},
		{"key":"\u006coss","value":3,"step":7}]}`).is(`{"count":6}`)
	a.get(path + "?key=loss").has(`{"total":4,"data":[
		{"key":"loss","step":3,"value":1},
		{"key":"loss","step":7,"value":0.5,"recorded_at":"2026-11-21T09:00:00.000Z"},
		{"key":"loss","step":7,"value":3},
		{"key":"loss","step":8,"value":"-Infinity","recorded_at":"` + nowText + `"}]}`)
	a.get(path + "?key=acc").has(`{"data":[{"step":0,"value":"NaN"},{"step":1,"value":2}]}`)
	a.do("POST", path+"/bulk", `{"metrics":[]}`).is(`{"count":0}`)
}

func TestBulkIsPacked(t *testing.T) {
	a := start(t)
	path := "/metric/iteration/" + a.running() + "/bulk"
	body := `{"metrics":[{"key":"loss","value":0.5},{"key":"loss","value":0.25}]}`
	var zipped bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	fmt.Fprint(gz, body)
	a.must(gz.Close())
	enc, err := zstd.NewWriter(nil)
	a.must(err)
	for name, packed := range map[string]string{
		"gzip": zipped.String(),
		"zstd": string(enc.EncodeAll([]byte(body), nil)),
	} {
		a.do("POST", path, packed, header("Content-Encoding", name), key(name), loose).is(`{"count":2}`)
		// The idempotency key is bound to the decompressed body, not to the encoded one.
		a.do("POST", path, body, key(name)).is(`{"count":2}`)
		a.unchanged(func() {
			a.do("POST", path, packed[:len(packed)-3], header("Content-Encoding", name), loose).fails(400, "MALFORMED_BODY", "")
			a.do("POST", path, packed+"x", header("Content-Encoding", name), loose).fails(400, "MALFORMED_BODY", "")
		})
	}
}

func TestBulkThatUnpacksToTooMuch(t *testing.T) {
	a := start(t)
	path := "/metric/iteration/" + a.running() + "/bulk"
	bomb := bytes.Repeat([]byte(" "), 80<<20)
	var zipped bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	gz.Write(bomb)
	a.must(gz.Close())
	enc, err := zstd.NewWriter(nil)
	a.must(err)
	for name, packed := range map[string]string{"gzip": zipped.String(), "zstd": string(enc.EncodeAll(bomb, nil))} {
		a.do("POST", path, packed, header("Content-Encoding", name), loose).fails(413, "PAYLOAD_TOO_LARGE", "")
	}
}

func TestBulkIsRefusedWhole(t *testing.T) {
	a := start(t)
	path := "/metric/iteration/" + a.running()
	a.do("POST", path, `{"key":"full","value":1,"step":9223372036854775807}`).wants(201)
	good := `{"key":"loss","value":1}`
	a.unchanged(func() {
		for _, c := range []struct{ bad, field string }{
			{`{"key":"","value":1}`, "key"},
			{`{"key":"` + strings.Repeat("k", 251) + `","value":1}`, "key"},
			{`{"key":"full","value":1}`, "step"},
			{`{"key":"loss","value":"nan"}`, "metrics.1.value"},
			{`{"key":"loss","value":null}`, "metrics.1.value"},
			{`{"key":"loss","value":1e999}`, "metrics.1.value"},
			{`{"key":"loss","value":1,"step":1.5}`, "metrics.1.step"},
			{`{"key":"loss","value":1,"recorded_at":"today"}`, "metrics.1.recorded_at"},
			{`{"key":"loss","value":1,"value":2}`, "metrics.1.value"},
			{`{"key":null,"value":1}`, "metrics.1"},
			{`{"key":7,"value":1}`, "metrics.1"},
			{`{"key":"a","value":1,"nonsense":null}`, "metrics.1"},
			{`{"key":"a","value":1,"nonsense":1}`, "metrics.1.nonsense"},
		} {
			a.do("POST", path+"/bulk", `{"metrics":[`+good+`,`+c.bad+`]}`).fails(422, "INVALID_PAYLOAD", c.field)
		}
		a.do("POST", path+"/bulk", `{"metrics":[`+strings.Repeat(good+",", 100_000)+good+`]}`).fails(422, "INVALID_PAYLOAD", "metrics")
	})
}

func TestSeriesAndSummary(t *testing.T) {
	a := start(t)
	e := a.experiment(a.project(a.root))
	one, two := a.iteration(e), a.iteration(e)
	for step := range 100 {
		a.do("POST", "/metric/iteration/"+one, fmt.Sprintf(`{"key":"loss","value":%d,"step":%d}`, (step*37)%100, step)).wants(201)
	}
	a.metric(two, "loss", 5)
	a.metric(two, "acc", 1)
	got := a.get("/metric/iteration/" + one + "/series?points=5&from=10&to=59")
	got.has(`{"series":[{"iteration_id":"` + one + `","key":"loss","count":50,"shown":5,"min":[70,"<any>","<any>","<any>","<any>"]}]}`)
	a.do("POST", "/series", `{"iterations":["`+two+`","`+one+`"],"keys":["loss"],"from":0,"to":0}`).has(
		`{"series":[{"iteration_id":"` + two + `","count":1,"value":[5]},{"iteration_id":"` + one + `","count":1,"value":[0]}]}`)
	a.get("/metric/iteration/" + two + "/series?key=acc&key=nothing&key=loss").has(`{"series":[{"key":"acc"},{"key":"loss"}]}`)
	a.get("/metric/iteration/" + two + "/series?x=time&from=2026-11-21T09:30:00Z&scale=log").has(`{"series":[{"key":"acc"},{"key":"loss"}]}`)
	a.get("/iteration/" + two + "/summary").has(`{"metrics":{"loss":{"count":1,"last":5,"mean":5}},"params":{},"tags":[]}`)
	for query, field := range map[string]string{
		"points=1": "points", "points=x": "points", "from=x": "from", "to=1.5": "to", "from=2&to=1": "from",
		"x=clock": "x", "scale=square": "scale", "x=time&from=7": "from", "points=5&points=6": "points", "keys=loss": "keys",
	} {
		a.get("/metric/iteration/"+one+"/series?"+query).fails(422, "INVALID_PAYLOAD", field)
	}
	for body, field := range map[string]string{
		`{}`: "iterations", `{"iterations":[]}`: "iterations", `{"iterations":["` + one + `"],"points":1}`: "points",
		`{"iterations":["` + one + `"],"x":"clock"}`: "x", `{"iterations":"` + one + `"}`: "iterations",
		`{"iterations":["` + one + `"],"from":"x"}`: "from", `{"iterations":["` + one + `"],"keys":"loss"}`: "keys",
	} {
		a.do("POST", "/series", body).fails(422, "INVALID_PAYLOAD", field)
	}
	a.do("POST", "/series", `{"iterations":["`+one+`","`+nobody+`"]}`).fails(404, "NOT_FOUND", "")
}
