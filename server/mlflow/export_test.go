package mlflow

import "tracker/server/web"

// Limits of requests.
const (
	MaxValues = maxValues
	MaxBatch  = maxBatch
)

// Routes returns the methods and paths of all routes.
func Routes() (all [][2]string) {
	for _, rt := range new(Server).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}

// DecodeBatch decodes the body of a batch and returns its number of metrics, parameters and tags.
func DecodeBatch(body []byte) (n int, err error) {
	var in batch
	if err := web.DecodeLenient(body, &in); err != nil {
		return 0, err
	}
	for _, m := range in.Metrics {
		if _, e := m.sample(); e == nil {
			n++
		}
	}
	return n + len(in.Params) + len(in.Tags), in.check()
}

// ReadSearch parses a string as every kind of filter and every kind of order, and returns the
// number of comparisons in the filter.
func ReadSearch(search string) (int, error) {
	terms, err := parseFilter(search)
	_, _ = runFilter(search)
	_, _ = experimentFilter(search)
	_, _, _ = modelFilter(search)
	_, _ = newModelSearch(loggedModelSearch{Filter: text(search)})
	_, _ = runOrder([]string{search})
	_, _ = experimentOrder([]string{search})
	_, _ = modelOrder([]string{search})
	return len(terms), err
}
