package server

// OpenAPIYAML is the document that the server gives out.
var OpenAPIYAML = openapiYAML

// Routes are the methods and path templates of the route table, in its order.
func Routes() [][2]string {
	var all [][2]string
	for _, rt := range new(Server).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}
