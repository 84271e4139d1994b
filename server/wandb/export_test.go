package wandb

// Routes are the methods and paths of all routes.
func Routes() (all [][2]string) {
	for _, rt := range new(Server).routes() {
		all = append(all, [2]string{rt.method, rt.path})
	}
	return all
}
