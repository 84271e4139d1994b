package mlflow

import (
	"errors"
	"math"
	"net/url"
	"strconv"

	"tracker/server/web"
	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/scalar"
)

// Request fields are decoded leniently, because clients in many versions and languages send numbers
// as strings, strings as numbers, and null for fields that are not set. Unknown fields are ignored.

// text is a string field.
type text string

// UnmarshalJSONFrom reads a string, a number, a boolean or null.
func (t *text) UnmarshalJSONFrom(dec *json.Decoder) error {
	if null(dec) {
		*t = ""
		return dec.SkipValue()
	}
	return (*scalar.Text)(t).UnmarshalJSONFrom(dec)
}

// integer is an int64 field. set reports whether the request has the field.
type integer struct {
	n   int64
	set bool
}

// or returns the number, or fallback if the field is not set.
func (i integer) or(fallback int64) int64 {
	if i.set {
		return i.n
	}
	return fallback
}

// UnmarshalJSONFrom reads an integer, a string that contains an integer, or null. An integer can be
// written with a zero fraction, like 1.0.
func (i *integer) UnmarshalJSONFrom(dec *json.Decoder) error {
	*i = integer{}
	return readNumber(dec, i.parse, errNotInteger)
}

// readNumber calls parse with the literal of a JSON number or with the value of a JSON string. It
// does nothing for null, and returns invalid for any other value.
func readNumber(dec *json.Decoder, parse func(string) error, invalid error) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '0': // ReadToken would copy each of the thousands of numbers in a batch
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		return parse(string(raw))
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != '"' {
		return invalid
	}
	return parse(tok.String())
}

// parse parses number and sets the field.
func (i *integer) parse(number string) error {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		*i = integer{n, true}
		return nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return errNotInteger
	}
	*i = integer{int64(f), true}
	return nil
}

// double is a metric value field. set reports whether the request has the field.
type double struct {
	f   float64
	set bool
}

// UnmarshalJSONFrom reads a number, a string or null. The string contains a number, NaN or an
// infinity.
func (d *double) UnmarshalJSONFrom(dec *json.Decoder) error {
	*d = double{}
	return readNumber(dec, d.parse, errNotNumber)
}

// parse parses number and sets the field.
func (d *double) parse(number string) error {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // for ErrRange, f is an infinity
		return errNotNumber
	}
	*d = double{f, true}
	return nil
}

// texts is a field with a list of strings. It also accepts a single string, because a query
// can't contain a list with one element.
type texts []string

// UnmarshalJSONFrom reads a list of strings, a string or null.
func (t *texts) UnmarshalJSONFrom(dec *json.Decoder) error {
	*t = nil
	switch {
	case null(dec):
		return dec.SkipValue()
	case dec.PeekKind() == '[':
		var all []text
		if err := json.UnmarshalDecode(dec, &all); err != nil {
			return err
		}
		for _, one := range all {
			*t = append(*t, string(one))
		}
		return nil
	}
	var one text
	err := one.UnmarshalJSONFrom(dec)
	*t = texts{string(one)}
	return err
}

// flag is a boolean field.
type flag bool

// UnmarshalJSONFrom reads a boolean, a string that contains a boolean, or null.
func (f *flag) UnmarshalJSONFrom(dec *json.Decoder) error {
	var t text
	if err := t.UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	switch t {
	case "true", "True", "1":
		*f = true
	case "", "false", "False", "0":
		*f = false
	default:
		return errors.New("must be true or false")
	}
	return nil
}

var (
	errNotInteger = errors.New("must be a whole number")
	errNotNumber  = errors.New("must be a number, or \"NaN\", \"Infinity\" or \"-Infinity\"")
)

// null reports whether the next JSON value is null.
func null(dec *json.Decoder) bool { return dec.PeekKind() == 'n' }

// decode reads the parameters of a request into the struct to which dst points. A GET request
// has its parameters in the query. Other requests have a JSON body.
func (c *call) decode(dst any) error {
	if c.r.Method == "GET" || c.r.Method == "HEAD" {
		body, err := queryObject(c.r.URL.RawQuery)
		if err != nil {
			return err
		}
		return web.DecodeLenient(body, dst)
	}
	body, err := web.ReadBody(c.w, c.r, web.Limits{Size: maxBody, Packed: true, Values: maxValues, Share: c.share})
	if err != nil || body == nil {
		return err
	}
	return web.DecodeLenient(body, dst)
}

// queryObject converts a URL query to a JSON object. A repeated name becomes a list.
func queryObject(raw string) ([]byte, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, domain.Invalid("query", "The query string can't be read; escape its special characters.")
	}
	fields := map[string]any{}
	for name, values := range query {
		if len(values) == 1 {
			fields[name] = values[0]
		} else {
			fields[name] = values
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, domain.Invalid("query", "The query string must be UTF-8.")
	}
	return body, nil
}
