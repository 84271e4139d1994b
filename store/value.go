package store

import (
	"tracker/store/artifact"
	"tracker/store/console"
	"tracker/store/goal"
	"tracker/store/points"
	"tracker/store/scalar"
	"tracker/store/search"
	"tracker/store/sqlite"
)

// Types of package artifact, for the callers of this one.
type (
	// Backend names a place for the bytes of artifacts.
	Backend = artifact.Backend
	// Backends are the places for bytes that a database is opened with.
	Backends = artifact.Backends
	// Received is the bytes of an artifact that have no record yet.
	Received = artifact.Received
	// Orphan is bytes that no record needs.
	Orphan = artifact.Orphan
	// OrphanKind is the kind of an orphan.
	OrphanKind = artifact.OrphanKind
	// Migration describes the blobs to be moved to a backend.
	Migration = artifact.Migration
	// Moved is the result of a migration for one blob.
	Moved = artifact.Moved
	// UploadPart is a part of a resumable upload.
	UploadPart = artifact.Part
)

// The backends. Inline is the database itself.
const (
	Inline     = artifact.Inline
	Filesystem = artifact.Filesystem
	S3         = artifact.S3
)

// The kinds of orphans, and how long staged bytes rest before they are one.
const (
	OrphanBlob   = artifact.OrphanBlob
	OrphanStaged = artifact.OrphanStaged
	OrphanUpload = artifact.OrphanUpload
	StagedAge    = artifact.StagedAge
)

// UploadAge is how long a resumable upload rests before it expires, and how long
// one that has become an artifact can still be asked for.
const UploadAge = artifact.UploadAge

// The lines that runs print.
type (
	ConsoleLine  = console.Line
	Console      = console.Part
	ConsoleQuery = console.Query
)

// Limits of the console of an iteration.
const (
	MaxConsoleLines = console.MaxLines
	MaxConsoleLine  = console.MaxLine
)

// Queries of curves; see package points.
type (
	Axis       = points.Axis
	Scale      = points.Scale
	CurveQuery = points.CurveQuery
	PairQuery  = points.PairQuery
	MeanCurve  = points.MeanCurve
)

// The axes and scales of curves, and the number of points that is asked for by default.
const (
	ByStep     = points.ByStep
	ByTime     = points.ByTime
	SinceStart = points.SinceStart
	Linear     = points.Linear
	Log        = points.Log

	DefaultPoints = points.DefaultPoints
)

// Group is a set of iterations with the same values. Grouped by tag, an
// iteration is in the group of each of its tags.
type Group = search.Group

// Spread is the mean and the deviation of the values of a group.
type Spread = points.Spread

// The names of parameters and metrics.
type (
	KeyKind = search.KeyKind
	Key     = search.Key
	Unknown = search.Unknown
)

// The kinds of name that iterations have.
const (
	MetricKey = search.MetricKey
	ParamKey  = search.ParamKey
)

// NewMetric is a point to be written. Without a step it gets the largest step
// of its series plus one (0 in an empty one), without a time the server's.
type NewMetric = points.Sample

// MetricPatch holds the fields that UpdateMetric sets; nil leaves a field as it is.
type MetricPatch = points.Patch

// The metric by which the runs of an experiment are compared, and its goal.
type (
	Goal      = goal.Goal
	Objective = goal.Objective
)

// The goals.
const (
	Minimize = goal.Minimize
	Maximize = goal.Maximize
)

// NoObjective is the objective of an experiment whose runs are not compared.
const NoObjective = goal.None

// CommitStats describe one transaction of the writer.
type CommitStats = sqlite.CommitStats

// MetricSummary holds the statistics of one metric of an iteration.
type MetricSummary = points.Summary

// The values that records are made of.
type (
	Time  = scalar.Time
	Value = scalar.Value
	Step  = scalar.Step
	Text  = scalar.Text
)

// ParseTime reads RFC 3339 as scalar.ParseTime does.
func ParseTime(s string) (Time, error) { return scalar.ParseTime(s) }
