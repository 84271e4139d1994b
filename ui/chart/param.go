package chart

import (
	"cmp"
	"slices"
	"strings"
)

// knownParams are names of parameters that usually matter, most interesting first. A name
// matches the last part of a key, such as optimizer/lr.
var knownParams = []string{"lr", "learning_rate", "optimizer", "optim", "batch_size", "per_device_train_batch_size",
	"train_batch_size", "model", "model_name", "model_name_or_path", "arch", "architecture", "backbone", "base_model",
	"epochs", "num_train_epochs", "num_epochs", "max_epochs", "max_steps", "weight_decay", "dropout", "momentum",
	"scheduler", "lr_scheduler", "lr_scheduler_type", "schedule", "warmup", "warmup_steps", "warmup_ratio", "augment",
	"augmentation", "dataset", "dataset_name", "hidden_size", "hidden", "width", "n_layers", "num_layers", "layers",
	"depth", "max_depth", "n_estimators", "num_leaves", "gamma", "alpha", "temperature", "gradient_accumulation_steps",
	"label_smoothing", "label_smoothing_factor"}

// sideWords are words in the names of parameters that determine where a run works or how it is
// repeated, and not how it trains.
var sideWords = []string{"seed", "dir", "path", "name", "id", "port", "host", "url", "file", "device", "workers", "token",
	"timestamp", "date", "logging", "version", "resume"}

// ParamRank returns the rank of a parameter by its name: lower ranks are more interesting.
// Parameters whose names are not known have the rank UnknownParam or, if the name suggests a path,
// a seed or similar, a higher rank.
func ParamRank(key string) int {
	name := strings.ToLower(strings.Trim(key, "`"))
	if at := strings.LastIndexAny(name, "/.:"); at >= 0 {
		name = name[at+1:]
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), " ", "_")
	if at := slices.Index(knownParams, name); at >= 0 {
		return at
	}
	if slices.ContainsFunc(strings.Split(name, "_"), func(word string) bool { return slices.Contains(sideWords, word) }) {
		return UnknownParam + 1
	}
	return UnknownParam
}

// UnknownParam is the rank of a parameter whose name is not known.
const UnknownParam = 1000

// SortParams sorts parameters by ParamRank. Parameters with the same rank keep their order.
func SortParams(keys []string) {
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(ParamRank(a), ParamRank(b)) })
}

// IsUnset reports whether value is typical of an option that was not set, such as None or false.
func IsUnset(value string) bool {
	switch strings.ToLower(value) {
	case "", "none", "null", "nil", "false", "[]", "{}", "()", `""`, "''", "nan":
		return true
	}
	return false
}
