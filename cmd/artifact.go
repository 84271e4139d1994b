package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tracker/blob"
	"tracker/store/artifact"
)

// backends returns the artifact backends that the settings configure. New artifacts are stored
// in the default backend. The other backends serve artifacts that were stored earlier.
func (c Config) backends() artifact.Backends {
	return artifact.Backends{
		Default: artifact.Backend(c.ArtifactBackend),
		Open: map[artifact.Backend]func() (blob.Store, error){
			artifact.Filesystem: func() (blob.Store, error) { return blob.NewFilesystem(c.ArtifactRoot) },
			artifact.S3: func() (blob.Store, error) {
				return blob.NewS3(blob.S3Options{
					Bucket:    c.S3Bucket,
					Prefix:    c.S3Prefix,
					Endpoint:  string(c.S3Endpoint),
					Region:    c.S3Region,
					AccessKey: c.S3AccessKey,
					SecretKey: c.S3SecretKey,
				})
			},
		},
	}
}

// existing returns the backends for a command that only reads artifacts. It does not create the
// artifacts folder, because a command in the wrong working directory would then create an empty
// folder and find no artifacts.
func (c Config) existing() artifact.Backends {
	b := c.backends()
	open := b.Open[artifact.Filesystem]
	b.Open[artifact.Filesystem] = func() (blob.Store, error) {
		if _, err := os.Stat(c.ArtifactRoot); errors.Is(err, fs.ErrNotExist) {
			path := c.ArtifactRoot
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
			return nil, &blob.Error{Kind: blob.ErrUnavailable,
				Message: "There is no artifacts folder " + path + "; name it with --artifact-root or SERVICE_ARTIFACT_ROOT."}
		}
		return open()
	}
	return b
}

// artifactSettings lists the settings that locate artifacts.
var artifactSettings = []string{"SERVICE_DB_FILE", "SERVICE_ARTIFACT_BACKEND", "SERVICE_ARTIFACT_ROOT", "SERVICE_S3_BUCKET",
	"SERVICE_S3_PREFIX", "SERVICE_S3_ENDPOINT", "SERVICE_S3_REGION", "SERVICE_S3_ACCESS_KEY", "SERVICE_S3_SECRET_KEY"}

// uploadDir returns the folder for incomplete resumable uploads. It is below the artifacts
// root, because that disk has space for artifacts.
func (c Config) uploadDir() string { return filepath.Join(c.ArtifactRoot, "upload") }
