package server

import (
	"tracker/server/web"
	"tracker/store"
)

// OpenAPIYAML is the API description that the server sends.
var OpenAPIYAML = openapiYAML

// Routes returns the methods and path templates of the route table, in table order.
func Routes() [][2]string {
	var all [][2]string
	for _, rt := range (&Server{db: new(store.DB)}).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}

// DecodeBulk decodes the body of a bulk request and returns the number of points.
func DecodeBulk(body []byte) (int, error) {
	var b struct {
		Metrics *bulkPoints `json:"metrics"`
	}
	err := web.Decode(body, &b)
	if b.Metrics == nil {
		return 0, err
	}
	return len(*b.Metrics), err
}

// MaxBulk is the maximum number of points in a bulk request.
const MaxBulk = maxBulk
