// Package archive reads and writes tracker's archive format: a zip file with
//
//	manifest.json     list of the contents, with sizes and hashes
//	README.txt        description of the archive for human readers
//	report.html       HTML report for human readers
//	tracker.db        database that contains only the exported records
//	artifacts/ab/…    files of artifacts, named by their SHA-256
//
// Equal records produce identical bytes. The package does not depend on the tables in the database.
package archive

// Format is the version of the archive format that this package reads and writes.
const Format = 1

// Names of the files in an archive.
const (
	ManifestName = "manifest.json"
	ReadmeName   = "README.txt"
	ReportName   = "report.html"
	DatabaseName = "tracker.db"
)

// Manifest describes the contents of an archive.
type Manifest struct {
	Format int `json:"format"`
	// Scope is the scope of the export: project, experiment or runs.
	Scope string `json:"scope"`
	// Context lists the records, each in the form "kind/id", that are included only because
	// other records refer to them. An import creates these records if they do not exist.
	Context []string `json:"context"`
	// Base maps records, each in the form "kind/id", to fingerprints. A fingerprint is the checksum
	// of a record when it was last equal in the sender's and the receiver's database. Base is set
	// only in archives sent from one server to another.
	Base map[string]string `json:"base,omitzero"`
	// Counts maps each record kind to its number of records.
	Counts map[string]int64 `json:"counts"`
	// NotCarried lists the data that archives never contain. Each element is a message of one
	// sentence.
	NotCarried []string  `json:"not_carried"`
	Files      []File    `json:"files"`
	Artifacts  Artifacts `json:"artifacts"`
}

// File describes one file in an archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Artifacts holds the number and the total size of the artifact blobs. A blob that several
// artifacts share is counted once.
type Artifacts struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Blob identifies the content of one or more artifacts by its hash.
type Blob struct {
	Hash string
	Size int64
}

func blobName(hash string) string { return "artifacts/" + hash[:2] + "/" + hash }
