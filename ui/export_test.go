package ui

// Pages returns the paths of pages: the GET routes except the routes for scripts and programs.
func Pages() []string {
	var paths []string
	for _, r := range new(site).routes() {
		if r.method == "GET" && !served[r.path] {
			paths = append(paths, r.path)
		}
	}
	return paths
}

// served holds the GET routes whose response is not a page.
var served = map[string]bool{
	"/data/find":                       true,
	"/data/curves":                     true,
	"/data/experiment/{id}/iterations": true,
	"/data/experiment/{id}/best":       true,
	"/data/experiment/{id}/keys":       true,
	"/data/experiment/{id}/analysis":   true,
	"/data/experiment/{id}/columns":    true,
	"/data/experiment/{id}/front":      true,
	"/data/experiment/{id}/panel":      true,
	"/data/experiment/{id}/groups":     true,
	"/data/experiment/{id}/same":       true,
	"/data/experiment/{id}/varying":    true,
	"/data/experiment/{id}/values":     true,
	"/data/experiment/{id}/views":      true,
	"/data/experiment/{id}/reports":    true,
	"/data/view/{id}":                  true,
	"/data/compare":                    true,
	"/data/events":                     true,
	"/data/iteration/{id}/summary":     true,
	"/data/experiment/{id}/artifacts":  true,
	"/data/iteration/{id}/console":     true,
	"/iteration/{id}/console":          true,
	"/iteration/{id}/best":             true,
	"/report/{id}/export":              true,
	"/project/{id}/archive":            true,
	"/experiment/{id}/archive":         true,
	"/archive":                         true,
	"/experiment/{id}/runs.csv":        true,
	"/experiment/{id}/runs.tex":        true,
	"/experiment/{id}/runs.md":         true,
	"/compare.csv":                     true,
	"/artifact/{id}/table.csv":         true,
	"/artifact/{id}/table.parquet":     true,
	"/compare.tex":                     true,
	"/compare.md":                      true,
	"/report/{id}/picture/{picture}":   true,
	"/artifact/{id}/data":              true,
	"/artifact/{id}/frame":             true,
	"/health":                          true,
	"/openapi.yaml":                    true,
	"/openapi.json":                    true,
	"/static/{file}":                   true,
	"/client/python{rest:(?:/.*)?}":    true,
}

// Static returns the path of the built file for a source.
func Static(source string) string {
	a, err := loadAssets()
	if err != nil {
		panic(err)
	}
	return frame{assets: a}.static(source)
}

// Routes returns the methods and path templates of the route table, in its order.
func Routes() [][2]string {
	var all [][2]string
	for _, r := range new(site).routes() {
		all = append(all, [2]string{r.method, r.path})
	}
	return all
}
