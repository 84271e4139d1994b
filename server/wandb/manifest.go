package wandb

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tracker/store/collections"
	"tracker/store/domain"
	"tracker/store/files"
	"tracker/store/json"
)

const (
	// manifestName is the name of the file that lists the files of an artifact version.
	manifestName = "wandb_manifest.json"
	maxManifest  = 64 << 20 // in bytes
	maxEntries   = 500_000  // entries of a manifest, at least 130 bytes each
	// entryBytes is the memory that an entry needs without its strings.
	entryBytes = 120
)

// manifest lists the files of an artifact version.
type manifest struct {
	Contents entries `json:"contents"`
}

type manifestEntry struct {
	Digest string `json:"digest"` // MD5 in base64, or any string if Ref is set
	Ref    string `json:"ref"`
	Size   int64  `json:"size"`
}

// entries holds the files of a manifest. Decoding returns errEntries if a manifest has more
// than maxEntries files.
type entries struct {
	list []collections.Entry
	take func(bytes int64) error // counts the memory of the entries
}

var errEntries = errors.New("too many files")

// UnmarshalJSONFrom reads a JSON object that maps file names to entries.
func (e *entries) UnmarshalJSONFrom(dec *json.Decoder) error {
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	return json.EachMember(dec, func(path string) error {
		if len(e.list) == maxEntries {
			return errEntries
		}
		var one manifestEntry
		if err := json.UnmarshalDecode(dec, &one, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)); err != nil {
			return err
		}
		if err := e.take(int64(len(path)+len(one.Digest)+len(one.Ref)) + entryBytes); err != nil {
			return err
		}
		e.list = append(e.list, collections.Entry{Name: path, MD5: one.Digest, Ref: one.Ref, Size: one.Size})
		return nil
	})
}

// decodeManifest decodes a manifest without reading all of it into memory first. It calls take with
// the memory of each entry. If several entries have the same name, it returns only the last one.
func decodeManifest(r io.Reader, take func(bytes int64) error) ([]collections.Entry, error) {
	m := manifest{entries{take: take}}
	err := json.UnmarshalRead(r, &m, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true))
	if err := manifestError(err); err != nil {
		return nil, err
	}
	all := m.Contents.list
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b collections.Entry) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b collections.Entry) bool { return a.Name == b.Name }), nil
}

// manifestError returns the client error for err, which occurred while decoding a manifest. It
// returns nil if err is nil.
func manifestError(err error) error {
	var known *domain.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errEntries):
		return domain.Invalid("manifest", "An artifact may have up to %d files; log them as several artifacts.", maxEntries)
	case err != nil:
		return domain.Invalid("manifest", "The manifest of the artifact can't be read; log the artifact again.")
	}
	return nil
}

var errLongManifest = domain.Errorf(domain.CodePayloadTooLarge, "The manifest of an artifact may have up to %d bytes; log its files as several artifacts.", maxManifest)

var errManifest = domain.Invalid("manifest", "The files of the artifact take more than %d MiB with their names; log them as several artifacts.", domain.MaxAnswerBytes>>20)

// takeEntry counts the bytes of a manifest entry against the memory limit of the request. It
// returns an error if the limit is exceeded.
func (c *call) takeEntry(bytes int64) error {
	err := domain.Take(c.ctx, bytes)
	if errors.Is(err, errTooLarge) {
		err = errManifest
	}
	return err
}

// readManifest returns the files of an artifact version, sorted by name.
func (c *call) readManifest(a *collections.Version) ([]collections.Entry, error) {
	content, err := c.openManifest(a)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return decodeManifest(content, c.takeEntry)
}

// openManifest opens the manifest of an artifact version. For a version that no W&B client has
// logged, the manifest lists its stored files.
func (c *call) openManifest(a *collections.Version) (io.ReadCloser, error) {
	r, content, err := c.db.Files.OpenFile(c.ctx, c.actor, files.Tree{IterationID: a.IterationID}, a.File(manifestName))
	switch {
	case isNotFound(err) && a.State == collections.Committed:
		text, err := c.makeManifest(a)
		return io.NopCloser(bytes.NewReader(text)), err
	case err != nil:
		return nil, err
	case r.SizeBytes > maxManifest:
		content.Close()
		return nil, errLongManifest
	}
	return content, nil
}

// makeManifest returns a manifest of the stored files of an artifact version. The MD5s of the files
// are computed at the first call, and stored.
func (c *call) makeManifest(a *collections.Version) ([]byte, error) {
	all, err := c.db.Collections.SummedFiles(c.ctx, c.actor, a.ID)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for i, f := range all {
		if f.MD5 != "" {
			continue
		}
		if all[i].MD5, err = c.sumOf(f.ID); err != nil {
			return nil, err
		}
		sums[f.Name] = all[i].MD5
	}
	if len(sums) > 0 {
		if err := c.db.Collections.SetSums(c.ctx, c.actor, a.ID, sums); err != nil {
			return nil, err
		}
	}
	type entry struct {
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
		Birth  string `json:"birthArtifactID"`
	}
	contents := make(map[string]entry, len(all))
	for _, f := range all {
		contents[f.Name] = entry{f.MD5, f.Size, artifactID(a.ID)}
	}
	return json.Marshal(map[string]any{"version": 1, "storagePolicy": "wandb-storage-policy-v1",
		"storagePolicyConfig": map[string]string{"storageLayout": "V2"}, "contents": contents}, json.Deterministic(true))
}

// sumOf returns the MD5 of an artifact's bytes in base64.
func (c *call) sumOf(resourceID string) (string, error) {
	_, content, err := c.db.Files.OpenArtifact(c.ctx, c.actor, resourceID)
	if err != nil {
		return "", err
	}
	defer content.Close()
	h := md5.New()
	if _, err := io.Copy(h, content); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

const (
	partsName = collections.Parts
	maxParts  = 1000 // manifest parts of an artifact version
	// incremental is the name suffix of a manifest part that adds files to the newest version.
	incremental = "-incremental.json"
)

// newPart returns the name of a new part in the manifest of an artifact version. In alphabetical
// order, the name comes after the names of all earlier parts.
func (c *call) newPart(a *collections.Version, kind string) (string, error) {
	parts, err := c.db.Files.Files(c.ctx, c.actor, files.Tree{IterationID: a.IterationID}, a.File(partsName))
	if err != nil {
		return "", err
	}
	if len(parts) >= maxParts {
		return "", domain.Invalid("artifactID", "An artifact with several writers may have up to %d parts; finish it and log the rest as another version.", maxParts)
	}
	end := ".json"
	if kind == "INCREMENTAL" {
		end = incremental
	}
	return fmt.Sprintf("%s/%04d-%s%s", partsName, len(parts), newName(), end), nil
}

// wholeManifest is a manifest whose entries are kept as JSON.
type wholeManifest[C contents | map[string]json.Value] struct {
	Version  json.Value `json:"version,omitzero"`
	Policy   json.Value `json:"storagePolicy,omitzero"`
	Config   json.Value `json:"storagePolicyConfig,omitzero"`
	Contents C          `json:"contents"`
}

// contents holds manifest entries by file name. Decoding adds entries. It returns errEntries if
// there are more than maxEntries entries.
type contents struct {
	of   map[string]json.Value
	take func(bytes int64) error // counts the memory of the entries
}

// UnmarshalJSONFrom reads a JSON object that maps file names to entries.
func (c *contents) UnmarshalJSONFrom(dec *json.Decoder) error {
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	return json.EachMember(dec, func(path string) error {
		entry, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := c.take(int64(len(path)+len(entry)) + entryBytes); err != nil {
			return err
		}
		if c.of[path] = entry.Clone(); len(c.of) > maxEntries {
			return errEntries
		}
		return nil
	})
}

// joinManifest writes the manifest of an artifact version from the parts that clients have sent. It
// contains the files of all parts; if several parts contain the same file name, the last part wins.
// If a part is incremental, the manifest also contains the files of the newest version.
func (c *call) joinManifest(a *collections.Version) error {
	tree := files.Tree{IterationID: a.IterationID}
	parts, err := c.db.Files.Files(c.ctx, c.actor, tree, a.File(partsName))
	if err != nil || len(parts) == 0 {
		return err
	}
	all := wholeManifest[contents]{Contents: contents{of: map[string]json.Value{}, take: c.takeEntry}}
	add := func(content io.ReadCloser, err error) error {
		if err != nil {
			return err
		}
		defer content.Close()
		return manifestError(json.UnmarshalRead(content, &all, json.AllowDuplicateNames(true), json.AllowInvalidUTF8(true)))
	}
	adds := false
	for _, part := range parts {
		adds = adds || strings.HasSuffix(part.Name, incremental)
	}
	if adds {
		former, err := c.db.Collections.Versions(c.ctx, c.actor, collections.Search{ProjectID: a.ProjectID, Name: a.Collection})
		if err != nil {
			return err
		}
		if len(former) > 0 {
			if err := add(c.openManifest(&former[0])); err != nil {
				return err
			}
		}
	}
	for _, part := range parts {
		_, content, err := c.db.Files.OpenFile(c.ctx, c.actor, tree, a.File(partsName+"/"+part.Name))
		if err := add(content, err); err != nil {
			return err
		}
	}
	text, err := json.Marshal(wholeManifest[map[string]json.Value]{all.Version, all.Policy, all.Config, all.Contents.of},
		json.Deterministic(true), json.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if len(text) > maxManifest {
		return errLongManifest
	}
	return c.put(a.IterationID, a.File(manifestName), "application/json", bytes.NewReader(text))
}

// artifactFiles returns a page of the files in an artifact version. If the argument "names" is
// set, the page contains only the named files.
func (c *call) artifactFiles(a *collections.Version, in args) (any, error) {
	entries, err := c.readManifest(a)
	if err != nil {
		return nil, err
	}
	if names := in.texts("names"); len(names) > 0 {
		wanted := make(map[string]bool, len(names))
		for _, name := range names {
			wanted[name] = true
		}
		entries = slices.DeleteFunc(entries, func(e collections.Entry) bool { return !wanted[e.Name] })
	}
	offset, err := offsetOf(in.str("after"))
	if err != nil {
		return nil, err
	}
	offset = min(offset, len(entries))
	end := min(len(entries), offset+int(max(1, min(in.number("first", domain.MaxLimit), 10*domain.MaxLimit))))
	edges := []object{}
	for i := offset; i < end; i++ {
		e := &entries[i]
		address := func(args) (any, error) {
			if e.Ref != "" {
				return e.Ref, nil
			}
			return c.artifactURL(a, e.Name)
		}
		edges = append(edges, object{"cursor": itoa(int64(i + 1)), "node": object{"__typename": "File", "id": a.ID + "/" + e.Name,
			"name": e.Name, "displayName": e.Name, "url": address, "directUrl": address, "sizeBytes": itoa(e.Size),
			"storagePath": e.Name, "mimetype": typeOf("", e.Name), "updatedAt": isoTime(a.UpdatedDate), "digest": e.MD5, "md5": hexMD5(e.MD5)}})
	}
	page := pageOf(edges, "", end < len(entries))
	page["totalCount"] = len(entries)
	return page, nil
}

// hexMD5 converts an MD5 from base64 to hex. It returns nil if s is not valid base64.
func hexMD5(s string) any {
	sum, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return hex.EncodeToString(sum)
}
