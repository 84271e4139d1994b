package client

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

var wheel = sync.OnceValues(PythonWheel)

// ServePython answers a request of pip: a simple index (PEP 503) with the one
// package, and the wheel. base is the path of the index, without a slash at
// its end; rest is what follows. It reports whether there is such a page; if
// not, or with an error, nothing has been written.
func ServePython(w http.ResponseWriter, r *http.Request, base, rest string) (bool, error) {
	wheel, err := wheel()
	if err != nil {
		return false, err
	}
	w.Header().Set("Cache-Control", "no-cache")
	folder := base + "/tracker-client/"
	switch rest {
	case "":
		servePage(w, r, folder, "tracker-client")
	case "/tracker-client":
		servePage(w, r, folder+wheel.Name+"#sha256="+wheel.Hash, wheel.Name)
	case "/tracker-client/" + wheel.Name, "/" + wheel.Name:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"`+wheel.Hash+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(wheel.Body))
	default:
		return false, nil
	}
	return true, nil
}

// servePage answers with a page of one link.
func servePage(w http.ResponseWriter, r *http.Request, link, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\"><head><title>Python client</title></head>"+
		"<body><a href=\"%s\">%s</a></body></html>\n", link, text)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
}
