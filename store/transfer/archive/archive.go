// Package archive reads and writes tracker's own archive format: a zip file with
//
//	manifest.json     the list of its content, with sizes and hashes
//	README.txt        for people
//	report.html       for people
//	tracker.db        a database with only the exported records
//	artifacts/ab/…    the bytes of artifacts under their SHA-256, as in a folder of artifacts
//
// The same records give the same bytes. The package does not depend on the tables of the database.
package archive

// Format is the version of the format that this program writes.
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
	// Scope is the exported scope: project, experiment or runs.
	Scope string `json:"scope"`
	// Context lists the records, as kind/id, that are included only because others refer to them.
	// An import creates them if they do not exist.
	Context []string `json:"context"`
	// Base holds the fingerprints, by kind/id, that the records had when this database and the
	// receiving one last agreed. It is set only in archives that one server sends to another.
	Base map[string]string `json:"base,omitzero"`
	// Counts holds the number of records of each kind.
	Counts map[string]int64 `json:"counts"`
	// NotCarried lists, in sentences, the data that an archive never contains.
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

// Artifacts holds the number and total size of the artifacts; equal content is counted once.
type Artifacts struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Blob is the content of one or more artifacts.
type Blob struct {
	Hash string
	Size int64
}

func blobName(hash string) string { return "artifacts/" + hash[:2] + "/" + hash }
