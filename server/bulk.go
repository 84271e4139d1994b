package server

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/points"
	"tracker/store/scalar"
)

const (
	// maxBulk is the maximum number of points in a bulk request.
	maxBulk = 100_000
	// maxBulkBody is the maximum size of a bulk request's decompressed body, in bytes.
	maxBulkBody = 64 << 20
)

func (s *Server) createMetricBulk(c *call) error {
	var b struct {
		Metrics *bulkPoints `json:"metrics"`
	}
	// Check the permission before decompressing the body.
	key, err := idempotencyKey(c.r, nil)
	if err != nil {
		return err
	}
	if err := s.db.Runs.AllowPoints(domain.WithIdempotencyKey(c.ctx, key), c.actor, c.vars["iteration_id"]); err != nil {
		return err
	}
	if err := c.decodeFrom(&b, web.Limits{Size: maxBulkBody, Packed: true}); err != nil {
		return err
	}
	if b.Metrics == nil {
		return domain.Invalid("metrics", "metrics must be given: a list of {\"key\", \"value\", \"step\", \"recorded_at\"}.")
	}
	if err := s.db.Runs.CreateMetrics(c.ctx, c.actor, c.vars["iteration_id"], *b.Metrics); err != nil {
		return err
	}
	web.WriteJSON(c.w, c.r, http.StatusCreated, countBody{len(*b.Metrics)})
	return nil
}

type countBody struct {
	Count int `json:"count"`
}

// bulkPoints holds the points of a bulk request. It has its own JSON decoder, because a request
// has up to maxBulk points but only a few different keys. The decoder allocates each key once
// and does not convert numbers to strings.
type bulkPoints []points.Sample

var errTooMany = errors.New("must have at most " + strconv.Itoa(maxBulk) + " entries; send several requests")

// UnmarshalJSONFrom reads a JSON array of points.
func (p *bulkPoints) UnmarshalJSONFrom(dec *json.Decoder) error {
	if dec.PeekKind() != '[' {
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return errors.New("must be a list of {\"key\", \"value\", \"step\", \"recorded_at\"}")
	}
	*p = bulkPoints{}
	names := map[string]string{}
	return json.EachElement(dec, func() error {
		if len(*p) == maxBulk {
			return errTooMany
		}
		m, err := readPoint(dec, names)
		*p = append(*p, m)
		return err
	})
}

// readPoint reads one JSON object as a point. names holds the metric keys that the request has
// used so far.
func readPoint(dec *json.Decoder, names map[string]string) (m points.Sample, err error) {
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return m, err
		}
		return m, errors.New("must be a list of objects with key and value")
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, err
	}
	var hasKey, hasValue bool
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return m, err
		}
		field := name.String()
		if dec.PeekKind() == 'n' && field != "value" && field != "key" {
			if err := dec.SkipValue(); err != nil {
				return m, err
			}
			if field != "step" && field != "recorded_at" {
				return m, unknownPointField(field)
			}
			continue
		}
		switch field {
		case "key":
			hasKey = true
			m.Key, err = readName(dec, names)
		case "value":
			hasValue = true
			err = json.UnmarshalDecode(dec, &m.Value)
		case "step":
			m.Step = new(scalar.Step)
			err = json.UnmarshalDecode(dec, m.Step)
		case "recorded_at":
			m.RecordedAt = new(scalar.Time)
			err = json.UnmarshalDecode(dec, m.RecordedAt)
		default:
			err = unknownPointField(field)
		}
		if err != nil {
			return m, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, err
	}
	if !hasKey || !hasValue {
		return m, errors.New("must have a key and a value in each entry")
	}
	return m, nil
}

func unknownPointField(name string) error {
	return errors.New("must have entries with only key, value, step and recorded_at, not " + strconv.Quote(name))
}

func readName(dec *json.Decoder, names map[string]string) (string, error) {
	raw, err := dec.ReadValue()
	if err != nil {
		return "", err
	}
	// Most strings have no escapes, so their value is the text between the quotes.
	plain := len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0
	if plain {
		if name, ok := names[string(raw[1:len(raw)-1])]; ok {
			return name, nil
		}
	}
	var name string
	if raw.Kind() != '"' || json.Unmarshal(raw, &name) != nil {
		return "", errors.New("must have a string as the key of each entry")
	}
	if plain {
		names[name] = name
	}
	return name, nil
}
