// Package archive is the file format of tracker's own archives: a zip file with
//
//	manifest.json     what is in it, with sizes and hashes
//	README.txt        for people
//	report.html       for people
//	tracker.db        a database with only the exported records
//	artifacts/ab/…    the bytes of artifacts under their SHA-256, as in a folder of artifacts
//
// The same records give the same bytes. The package does not know the tables of
// the database.
package archive

// Format is the number of the format that this program writes.
const Format = 1

// The names in an archive.
const (
	ManifestName = "manifest.json"
	ReadmeName   = "README.txt"
	ReportName   = "report.html"
	DatabaseName = "tracker.db"
)

// Manifest lists what is in an archive.
type Manifest struct {
	Format int `json:"format"`
	// Scope is what was exported: project, experiment or runs.
	Scope string `json:"scope"`
	// Context has the records, as kind/id, that are included only because others
	// refer to them. An import makes those that do not exist.
	Context []string `json:"context"`
	// Base has the fingerprints that records had, by kind/id, when this database and
	// the one that the archive is sent to last agreed. Only archives that are sent
	// from one server to another have it.
	Base map[string]string `json:"base,omitzero"`
	// Counts has the number of records of each kind.
	Counts map[string]int64 `json:"counts"`
	// NotCarried lists in sentences what an archive never has.
	NotCarried []string  `json:"not_carried"`
	Files      []File    `json:"files"`
	Artifacts  Artifacts `json:"artifacts"`
}

// File is one of the files in an archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Artifacts are the bytes of artifacts, each of them once.
type Artifacts struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Blob is the bytes of artifacts that have the same content.
type Blob struct {
	Hash string
	Size int64
}

func blobName(hash string) string { return "artifacts/" + hash[:2] + "/" + hash }
