// Command bundle builds the files that browsers load from the sources in ui/static. The command
// is run by go generate in the folder ui. The command bundles and minifies scripts and styles,
// and copies third-party code unchanged. Each file name contains a hash of the file's content.
// The file manifest.json maps source names to file names.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Pages refer to these sources. The scripts in modules are ES modules. The script theme.js
// runs before the browser draws the page, events.js is a shared worker, and vegaframe.js draws a
// logged chart in a frame.
var (
	modules = []string{"artifact.js", "compare.js", "frame.js", "import.js", "iteration.js", "lineage.js", "loggedtable.js", "record.js", "report.js", "sweep.js", "toanalyse.js", "workbench.js"}
	classic = []string{"theme.js", "events.js", "vegaframe.js"}
	styles  = []string{"analyse.css", "audit.css", "compare.css", "diagnosis.css", "dialog.css", "home.css", "lineage.css", "loggedtable.css", "media.css", "model.css", "page.css", "plot.css", "record.css", "table.css"}
	copied  = []string{"favicon.svg", "htmx.js", "uplot.css", "uplot.js", "vega.js", "vegainterpreter.js", "vegalite.js"}
	// licenses holds the license files of third-party code. No page refers to license files,
	// and their names contain no hash.
	licenses = []string{"htmx.license.txt", "uplot.license.txt", "vega.license.txt"}
)

// asset is an entry of manifest.json.
type asset struct {
	File    string   `json:"file"`
	Imports []string `json:"imports,omitempty"` // files that a module imports statically
}

func main() {
	log.SetFlags(0)
	files, err := build("static")
	if err == nil {
		err = replace("dist", files)
	}
	if err != nil {
		log.Fatal("bundle: ", err)
	}
}

// build returns the files that browsers load, keyed by file name. The same sources give the
// same files, regardless of the folder that contains them.
func build(static string) (map[string][]byte, error) {
	static, err := filepath.Abs(static)
	if err != nil {
		return nil, err
	}
	files, manifest := map[string][]byte{}, map[string]asset{}
	for _, o := range []api.BuildOptions{
		{EntryPoints: modules, Format: api.FormatESModule, Splitting: true},
		{EntryPoints: classic, Format: api.FormatIIFE},
		{EntryPoints: styles},
	} {
		if err := bundle(static, o, files, manifest); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Concat(copied, licenses) {
		body, err := os.ReadFile(filepath.Join(static, name))
		if err != nil {
			return nil, err
		}
		file := name
		if !slices.Contains(licenses, name) {
			base, ending, _ := strings.Cut(name, ".")
			sum := sha256.Sum256(body)
			file = fmt.Sprintf("%s-%X.%s", base, sum[:4], ending)
			manifest[name] = asset{File: file}
		}
		files[file] = body
	}
	files["manifest.json"], err = json.MarshalIndent(manifest, "", "\t")
	return files, err
}

// metafile is esbuild's report about a bundle.
type metafile struct {
	Inputs  map[string]struct{ Imports []imported }
	Outputs map[string]struct {
		EntryPoint string
		Imports    []imported
	}
}

type imported struct {
	Path string
	Kind string
}

// bundle runs esbuild with the options o and adds the output to files and manifest.
func bundle(static string, o api.BuildOptions, files map[string][]byte, manifest map[string]asset) error {
	o.AbsWorkingDir, o.Outdir = static, "dist"
	o.EntryNames, o.ChunkNames = "[name]-[hash]", "part-[hash]"
	o.Bundle, o.Metafile = true, true
	o.MinifyWhitespace, o.MinifyIdentifiers, o.MinifySyntax = true, true, true
	o.Target, o.Charset, o.LogLevel = api.ESNext, api.CharsetUTF8, api.LogLevelSilent
	result := api.Build(o)
	if problems := slices.Concat(result.Errors, result.Warnings); len(problems) > 0 {
		first := problems[0]
		if at := first.Location; at != nil {
			return fmt.Errorf("%s:%d: %s", at.File, at.Line, first.Text)
		}
		return errors.New(first.Text)
	}
	var meta metafile
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return err
	}
	if circle := circle(meta); circle != nil {
		return fmt.Errorf("an import circle: %s", strings.Join(circle, " → "))
	}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	for name, out := range meta.Outputs {
		if out.EntryPoint == "" {
			continue
		}
		a := asset{File: path.Base(name)}
		for _, i := range out.Imports {
			if i.Kind != "dynamic-import" { // the page loads dynamic imports when it needs them
				a.Imports = append(a.Imports, path.Base(i.Path))
			}
		}
		slices.Sort(a.Imports)
		manifest[out.EntryPoint] = a
	}
	return nil
}

// circle returns the sources of an import cycle, or nil if there is none.
func circle(meta metafile) []string {
	done := map[string]bool{}
	var way []string
	var visit func(string) []string
	visit = func(name string) []string {
		if at := slices.Index(way, name); at >= 0 {
			return append(slices.Clone(way[at:]), name)
		}
		if done[name] {
			return nil
		}
		way = append(way, name)
		for _, i := range meta.Inputs[name].Imports {
			if found := visit(i.Path); found != nil {
				return found
			}
		}
		way = way[:len(way)-1]
		done[name] = true
		return nil
	}
	names := make([]string, 0, len(meta.Inputs))
	for name := range meta.Inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}

// replace deletes the folder dir and creates it again with the given files.
func replace(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}
