package mlflow

// registryRoutes returns the routes for registered models, model versions and logged models.
func (s *Server) registryRoutes() []route {
	return []route{
		post("registered-models/create", with((*call).createRegisteredModel)),
		post("registered-models/rename", with((*call).renameRegisteredModel)),
		patch("registered-models/update", with((*call).updateRegisteredModel)),
		remove("registered-models/delete", do((*call).deleteRegisteredModel)),
		get("registered-models/get", with((*call).registeredModel)),
		get("registered-models/search", with((*call).searchRegisteredModels)),
		get("registered-models/list", with((*call).listRegisteredModels)),
		get("registered-models/get-latest-versions", with((*call).latestVersions)),
		post("registered-models/get-latest-versions", with((*call).latestVersions)),
		post("registered-models/set-tag", do((*call).setModelTag)),
		remove("registered-models/delete-tag", do((*call).deleteModelTag)),
		get("registered-models/alias", with((*call).versionByAlias)),
		post("registered-models/alias", do((*call).setAlias)),
		remove("registered-models/alias", do((*call).deleteAlias)),
		post("model-versions/create", with((*call).createVersion)),
		patch("model-versions/update", with((*call).updateVersion)),
		remove("model-versions/delete", do((*call).deleteVersion)),
		get("model-versions/get", with((*call).modelVersion)),
		get("model-versions/search", with((*call).searchVersions)),
		get("model-versions/get-download-uri", with((*call).downloadURI)),
		post("model-versions/transition-stage", with((*call).transitionStage)),
		post("model-versions/set-tag", do((*call).setVersionTag)),
		remove("model-versions/delete-tag", do((*call).deleteVersionTag)),
		post("logged-models", with((*call).createLoggedModel)),
		post("logged-models/search", with((*call).searchLoggedModels)),
		get("logged-models/{model_id}", with((*call).loggedModel)),
		patch("logged-models/{model_id}", with((*call).finishLoggedModel)),
		remove("logged-models/{model_id}", do((*call).deleteLoggedModel)),
		patch("logged-models/{model_id}/tags", do((*call).setLoggedModelTags)),
		remove("logged-models/{model_id}/tags/{key}", do((*call).deleteLoggedModelTag)),
		post("logged-models/{model_id}/params", do((*call).addLoggedModelParams)),
		post("runs/outputs", do((*call).logOutputs)),
	}
}
