package wandb

// types holds the fields of the types that clients older than 0.26 look up before they use a field.
var types = map[string][]string{
	"Query": {"viewer", "serverInfo", "project", "model", "entity", "models", "artifact"},
	"Mutation": {"upsertBucket", "createRunFiles", "upsertModel", "deleteRun", "deleteFiles", "notifyScriptableRunAlert", "createArtifact", "createArtifactFiles",
		"createArtifactManifest", "updateArtifactManifest", "commitArtifact", "useArtifact", "updateArtifact", "addAliases", "deleteAliases", "deleteArtifact",
		"upsertSweep", "createAgent", "agentHeartbeat"},
	"ServerInfo":     {"cliVersionInfo", "latestLocalVersionInfo"},
	"ServerSettings": {"serverMessages"},
	"Artifact":       {"id", "digest", "aliases", "tags", "files", "filesByManifestEntries", "currentManifest"},
	"Project":        {"artifact", "artifactType", "artifactTypes", "artifactCollection", "id", "internalId", "name", "run", "runs", "runCount"},
	"Run":            {"id", "name", "historyKeys", "sampledHistory", "projectId", "wandbConfig"},
}

// inputs holds the argument names of mutations.
var inputs = map[string][]string{
	"DeleteFilesInput":            {"files"},
	"CreateArtifactInput":         {"clientID", "sequenceClientID", "enableDigestDeduplication", "historyStep", "metadata", "description", "aliases", "tags"},
	"CreateArtifactFileSpecInput": {"artifactID", "name", "md5", "artifactManifestID"},
	"UseArtifactInput":            {"artifactID", "entityName", "projectName", "runName", "usedAs"},
	"AddAliasesInput":             {"artifactID", "aliases"},
}

// typeNamed returns the description of a type, or nil if types and inputs do not list the type.
func typeNamed(name string) object {
	fields, ok := types[name]
	arguments, isInput := inputs[name]
	if !ok && !isInput {
		return nil
	}
	return object{"__typename": "__Type", "name": name, "fields": names(fields), "inputFields": names(arguments)}
}

func names(all []string) []object {
	list := make([]object, len(all))
	for i, n := range all {
		list[i] = object{"name": n, "args": []object{}}
	}
	return list
}
