package client

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// served maps each folder of the index to a function that builds its wheel. The second folder has
// the former name of the package, for users who installed it under that name. The two wheels
// contain the same modules, so only one of them can be installed.
var served = map[string]func() (Wheel, error){
	"runtracker":     sync.OnceValues(func() (Wheel, error) { return pythonWheel(distribution, nil) }),
	"tracker-client": sync.OnceValues(func() (Wheel, error) { return pythonWheel(formerDistribution, nil) }),
}

// ServePython serves pip a simple index (PEP 503) and the wheel that contains only the Python
// client. base is the path of the index without a slash at the end. rest is the path below
// base. ServePython reports whether the page exists. If it returns false or an error, it has
// written nothing to w.
func ServePython(w http.ResponseWriter, r *http.Request, base, rest string) (bool, error) {
	w.Header().Set("Cache-Control", "no-cache")
	if rest == "" {
		servePage(w, r, link{base + "/runtracker/", "runtracker"}, link{base + "/tracker-client/", "tracker-client"})
		return true, nil
	}
	folder, file, inside := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	wheelOf, ok := served[folder]
	if !ok {
		return false, nil
	}
	wheel, err := wheelOf()
	if err != nil {
		return false, err
	}
	switch {
	case !inside:
		servePage(w, r, link{base + "/" + folder + "/" + wheel.Name + "#sha256=" + wheel.Hash, wheel.Name})
	case file == wheel.Name:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"`+wheel.Hash+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(wheel.Body))
	default:
		return false, nil
	}
	return true, nil
}

type link struct{ address, text string }

// servePage writes an HTML page with the given links.
func servePage(w http.ResponseWriter, r *http.Request, links ...link) {
	body := "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Python client</title></head><body>"
	for _, l := range links {
		body += fmt.Sprintf("<a href=\"%s\">%s</a>\n", l.address, l.text)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body+"</body></html>\n"))
}
