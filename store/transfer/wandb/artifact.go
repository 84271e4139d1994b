package wandb

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protowire"

	"tracker/store/transfer"
	"tracker/store/transfer/wire"
)

// artifactFile describes a file of a logged artifact. W&B's client stores the content in its own
// folder until the artifact is uploaded.
type artifactFile struct {
	Name string `json:"name"` // name of the artifact in tracker
	Path string `json:"path"`
	MD5  string `json:"md5"` // MD5 hash in base64
	Size int64  `json:"size"`
}

// maxArtifactFiles is the maximum number of files in all artifacts of a run.
const maxArtifactFiles = 20_000

// artifact records the files of a logged artifact in r.state. It ignores logged tables, because
// their files are also stored in the folder of the run.
func (r *reader) artifact(data []byte) error {
	var kind, name string
	var entries [][]byte
	err := wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
		switch n {
		case 4:
			kind = string(data)
		case 5:
			name = string(data)
		case 12:
			return wire.Fields(data, func(n protowire.Number, _ protowire.Type, _ uint64, data []byte) error {
				switch {
				case n == 4 && len(entries) <= maxArtifactFiles:
					entries = append(entries, data)
				case n == 5 && len(data) > 0:
					r.im.Lose(r.log.path, "The log does not contain the file list of the artifact %q; the artifact is not imported.", name)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || kind == "run_table" {
		return err
	}
	if r.state.Versions == nil {
		r.state.Versions = map[string]int{}
	}
	version := r.state.Versions[name]
	r.state.Versions[name]++
	for _, entry := range entries {
		f, path, ref, err := parseEntry(entry)
		if err != nil {
			return err
		}
		f.Name = fmt.Sprintf("artifacts/%s/v%d/%s", name, version, path)
		switch {
		case ref != "":
			r.im.Lose(r.log.path, "%q of the artifact %q is a link to %s; it is not imported.", path, name, ref)
		case len(r.state.Files) >= maxArtifactFiles:
			r.im.Lose(r.log.path, "The artifacts of the run have more than %d files; the rest are left out.", maxArtifactFiles)
		default:
			r.state.Files = append(r.state.Files, f)
		}
	}
	return nil
}

// parseEntry decodes an entry of an artifact's file list.
func parseEntry(data []byte) (f artifactFile, path, ref string, err error) {
	err = wire.Fields(data, func(n protowire.Number, _ protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			path = string(data)
		case 2:
			f.MD5 = string(data)
		case 3:
			ref = string(data)
		case 4:
			f.Size = int64(number)
		case 6:
			f.Path = string(data)
		}
		return nil
	})
	return f, path, ref, err
}

// importArtifacts stores the files of logged artifacts. A malicious log could name any file on this
// machine. Therefore, importArtifacts stores a file only if its content matches the hash in the
// log.
func (r *reader) importArtifacts(ctx context.Context) error {
	for _, f := range r.state.Files {
		err := r.w.Artifact(ctx, transfer.Artifact{Name: f.Name, ContentType: transfer.ContentType(f.Name), Size: f.Size, Modified: r.w.Run().Created,
			Open: f.open})
		if err != nil {
			return err
		}
	}
	return nil
}

var errOtherBytes = errors.New("its content was changed after it was logged")

// open opens the file. It returns errOtherBytes if the content does not match the logged hash.
func (f artifactFile) open() (io.ReadCloser, error) {
	info, err := os.Lstat(f.Path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != f.Size {
		return nil, errOtherBytes
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	sum := md5.New() // W&B uses MD5
	if _, err = io.Copy(sum, in); err == nil && base64.StdEncoding.EncodeToString(sum.Sum(nil)) != f.MD5 {
		err = errOtherBytes
	}
	if err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}
