package store

import (
	"context"

	"tracker/store/access"
	"tracker/store/files"
	"tracker/store/registry"
	"tracker/store/runs"
	"tracker/store/wandbruns"
)

// Types of package access, for the callers of this one.
type (
	Actor            = access.Actor
	Before           = access.Before
	Code             = access.Code
	Created          = access.Created
	Error            = access.Error
	ExperimentStatus = access.ExperimentStatus
	IdempotencyKey   = access.IdempotencyKey
	IterationStatus  = access.IterationStatus
	List[T any]      = access.List[T]
	NewProject       = access.NewProject
	Options          = access.Options
	Page             = access.Page
	Permission       = access.Permission
	Property         = access.Property
	Strings          = access.Strings
	TrashFilter      = access.TrashFilter
	TrashKind        = access.TrashKind
	User             = access.User
)

// Constants of package access, for the callers of this one.
const (
	AlsoTrash                     = access.AlsoTrash
	CodeActorGone                 = access.CodeActorGone
	CodeAdminRequired             = access.CodeAdminRequired
	CodeConflict                  = access.CodeConflict
	CodeDefaultUserProtected      = access.CodeDefaultUserProtected
	CodeExperimentNotInProgress   = access.CodeExperimentNotInProgress
	CodeInvalidCredentials        = access.CodeInvalidCredentials
	CodeInvalidPayload            = access.CodeInvalidPayload
	CodeIterationEnded            = access.CodeIterationEnded
	CodeNotFound                  = access.CodeNotFound
	CodePayloadTooLarge           = access.CodePayloadTooLarge
	CodeProjectPermissionRequired = access.CodeProjectPermissionRequired
	CodeSameUserRequired          = access.CodeSameUserRequired
	CodeServerError               = access.CodeServerError
	CodeStorageFull               = access.CodeStorageFull
	CodeUnavailable               = access.CodeUnavailable
	DefaultLimit                  = access.DefaultLimit
	Failed                        = access.Failed
	Finished                      = access.Finished
	InProgress                    = access.InProgress
	Killed                        = access.Killed
	LostAfter                     = access.LostAfter
	MaxAnswerBytes                = access.MaxAnswerBytes
	MaxLimit                      = access.MaxLimit
	MaxName                       = access.MaxName
	MaxPassword                   = access.MaxPassword
	MaxProperties                 = access.MaxProperties
	MaxSearched                   = access.MaxSearched
	MaxText                       = access.MaxText
	MinPassword                   = access.MinPassword
	NotTrash                      = access.NotTrash
	OnlyTrash                     = access.OnlyTrash
	Running                       = access.Running
	SearchLimit                   = access.SearchLimit
	Stopped                       = access.Stopped
	Succeeded                     = access.Succeeded
	TrashedArtifact               = access.TrashedArtifact
	TrashedExperiment             = access.TrashedExperiment
	TrashedIteration              = access.TrashedIteration
	TrashedModel                  = access.TrashedModel
	TrashedProject                = access.TrashedProject
	TrashedReport                 = access.TrashedReport
	TrashedVersion                = access.TrashedVersion
)

// Variables of package access, for the callers of this one.
var (
	FirstPage = access.FirstPage
	System    = access.System
)

// AsError is access.AsError.
func AsError(err error) *Error { return access.AsError(err) }

// Errorf is access.Errorf.
func Errorf(code Code, format string, args ...any) *Error {
	return access.Errorf(code, format, args...)
}

// Fingerprint is access.Fingerprint.
func Fingerprint(text string) string { return access.Fingerprint(text) }

// Invalid is access.Invalid.
func Invalid(field string, format string, args ...any) *Error {
	return access.Invalid(field, format, args...)
}

// Take is access.Take.
func Take(ctx context.Context, bytes int64) error { return access.Take(ctx, bytes) }

// WithBudget is access.WithBudget.
func WithBudget(ctx context.Context, take func(bytes int64) error) context.Context {
	return access.WithBudget(ctx, take)
}

// WithIdempotencyKey is access.WithIdempotencyKey.
func WithIdempotencyKey(ctx context.Context, k IdempotencyKey) context.Context {
	return access.WithIdempotencyKey(ctx, k)
}

// WithTrash is access.WithTrash.
func WithTrash(ctx context.Context) context.Context { return access.WithTrash(ctx) }

// Types of package runs, for the callers of this one.
type (
	Changes         = runs.Changes
	Column          = runs.Column
	ConsoleGrowth   = runs.ConsoleGrowth
	Curve           = runs.Curve
	DatasetName     = runs.DatasetName
	DatasetUse      = runs.DatasetUse
	Deletion        = runs.Deletion
	FoundValue      = runs.FoundValue
	GroupQuery      = runs.GroupQuery
	Grouped         = runs.Grouped
	Iteration       = runs.Iteration
	IterationLog    = runs.IterationLog
	IterationPatch  = runs.IterationPatch
	IterationQuery  = runs.IterationQuery
	IterationRecord = runs.IterationRecord
	KeyQuery        = runs.KeyQuery
	Metric          = runs.Metric
	MetricQuery     = runs.MetricQuery
	NewIteration    = runs.NewIteration
	NewSnapshot     = runs.NewSnapshot
	Parameter       = runs.Parameter
	ParameterPatch  = runs.ParameterPatch
	PropertyKind    = runs.PropertyKind
	RecentIteration = runs.RecentIteration
	RecordQuery     = runs.RecordQuery
	Snapshot        = runs.Snapshot
	SnapshotPatch   = runs.SnapshotPatch
	Summary         = runs.Summary
	Tag             = runs.Tag
	TagKind         = runs.TagKind
)

// Constants of package runs, for the callers of this one.
const (
	EndingLength         = runs.EndingLength
	ExperimentProperty   = runs.ExperimentProperty
	ExperimentTag        = runs.ExperimentTag
	IterationProperty    = runs.IterationProperty
	IterationTag         = runs.IterationTag
	LoggedModelProperty  = runs.LoggedModelProperty
	MaxConsoleWrite      = runs.MaxConsoleWrite
	MaxHistory           = runs.MaxHistory
	MaxRecordBytes       = runs.MaxRecordBytes
	MaxRecords           = runs.MaxRecords
	MaxTagged            = runs.MaxTagged
	ModelProperty        = runs.ModelProperty
	ModelVersionProperty = runs.ModelVersionProperty
	NotSentProperty      = runs.NotSentProperty
	ProjectTag           = runs.ProjectTag
)

// Columns is runs.Columns.
func Columns(text string) ([]Column, error) { return runs.Columns(text) }

// Unique is runs.Unique.
func Unique(ids []string) []string { return runs.Unique(ids) }

// Types of package files, for the callers of this one.
type (
	Artifact        = files.Artifact
	ArtifactPatch   = files.ArtifactPatch
	ArtifactQuery   = files.ArtifactQuery
	ArtifactUsage   = files.ArtifactUsage
	BackendUsage    = files.BackendUsage
	ExperimentUsage = files.ExperimentUsage
	NewArtifact     = files.NewArtifact
	NewUpload       = files.NewUpload
	TrashUsage      = files.TrashUsage
	Tree            = files.Tree
	Upload          = files.Upload
)

// Constants of package files, for the callers of this one.
const (
	DefaultContentType = files.DefaultContentType
)

// Variables of package files, for the callers of this one.
var (
	ErrChecksum = files.ErrChecksum
)

// CheckArtifact is files.CheckArtifact.
func CheckArtifact(p ArtifactPatch) error { return files.CheckArtifact(p) }

// Types of package registry, for the callers of this one.
type (
	DescribedModel    = registry.DescribedModel
	LoggedModel       = registry.LoggedModel
	LoggedModelMetric = registry.LoggedModelMetric
	LoggedModelQuery  = registry.LoggedModelQuery
	LoggedModelRole   = registry.LoggedModelRole
	LoggedModelStatus = registry.LoggedModelStatus
	LoggedModelUse    = registry.LoggedModelUse
	MadeVersion       = registry.MadeVersion
	Model             = registry.Model
	ModelHead         = registry.ModelHead
	ModelPatch        = registry.ModelPatch
	ModelQuery        = registry.ModelQuery
	ModelState        = registry.ModelState
	ModelVersion      = registry.ModelVersion
	ModelVersionPatch = registry.ModelVersionPatch
	ModelVersionQuery = registry.ModelVersionQuery
	NewLoggedModel    = registry.NewLoggedModel
	NewModel          = registry.NewModel
	NewModelVersion   = registry.NewModelVersion
	Origin            = registry.Origin
	PropertyMatch     = registry.PropertyMatch
	RegisteredModel   = registry.RegisteredModel
	RegisteredVersion = registry.RegisteredVersion
	Stage             = registry.Stage
	StageOthers       = registry.StageOthers
	VersionHead       = registry.VersionHead
)

// Constants of package registry, for the callers of this one.
const (
	Archived           = registry.Archived
	InputModel         = registry.InputModel
	LoggedModelFailed  = registry.LoggedModelFailed
	LoggedModelPending = registry.LoggedModelPending
	LoggedModelReady   = registry.LoggedModelReady
	MaxAliases         = registry.MaxAliases
	NoStage            = registry.NoStage
	OthersArchived     = registry.OthersArchived
	OthersByStage      = registry.OthersByStage
	OthersKept         = registry.OthersKept
	OutputModel        = registry.OutputModel
	Production         = registry.Production
	Staging            = registry.Staging
)

// LoggedModelFolder is registry.LoggedModelFolder.
func LoggedModelFolder(id string) string { return registry.LoggedModelFolder(id) }

// Types of package wandbruns, for the callers of this one.
type (
	NewWandbArtifact   = wandbruns.NewWandbArtifact
	SweepState         = wandbruns.SweepState
	WandbAgent         = wandbruns.WandbAgent
	WandbArtifact      = wandbruns.WandbArtifact
	WandbArtifactPatch = wandbruns.WandbArtifactPatch
	WandbArtifactQuery = wandbruns.WandbArtifactQuery
	WandbChange        = wandbruns.WandbChange
	WandbCommand       = wandbruns.WandbCommand
	WandbEntry         = wandbruns.WandbEntry
	WandbRecord        = wandbruns.WandbRecord
	WandbSnapshot      = wandbruns.WandbSnapshot
	WandbSweep         = wandbruns.WandbSweep
	WandbSweepChange   = wandbruns.WandbSweepChange
)

// Constants of package wandbruns, for the callers of this one.
const (
	SweepCanceled = wandbruns.SweepCanceled
	SweepFinished = wandbruns.SweepFinished
	SweepPaused   = wandbruns.SweepPaused
	SweepPending  = wandbruns.SweepPending
	SweepRunning  = wandbruns.SweepRunning
	WandbLatest   = wandbruns.WandbLatest
	WandbParts    = wandbruns.WandbParts
	WandbPending  = wandbruns.WandbPending
)
