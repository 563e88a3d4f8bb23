// Package web holds the console's static files and serves them.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:generate sh -c "cd src && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build"

//go:embed static
var files embed.FS

// Assets are the static files under one URL prefix. They are immutable and safe
// for concurrent use.
type Assets struct {
	prefix string
	bodies map[string][]byte
	hashes map[string]string
}

// New reads the embedded files. prefix is the URL path that ends with a slash
// and under which Assets is mounted.
func New(prefix string) (*Assets, error) {
	a := &Assets{prefix: prefix, bodies: map[string][]byte{}, hashes: map[string]string{}}
	root, err := fs.Sub(files, "static")
	if err != nil {
		return nil, fmt.Errorf("open static files: %w", err)
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		a.bodies[name], a.hashes[name] = body, hex.EncodeToString(sum[:6])
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read static files: %w", err)
	}
	return a, nil
}

// URL returns the address of a file with its content's hash, so that browsers
// may keep it for ever and still get a new one at once. A name that does not
// exist gives an address that answers 404.
func (a *Assets) URL(name string) string { return a.prefix + name + "?v=" + a.hashes[name] }

// File returns a file's content, nil when there is none of that name. Callers
// must not change it.
func (a *Assets) File(name string) []byte { return a.bodies[name] }

// ServeHTTP serves one file.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, a.prefix)
	body, ok := a.bodies[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		h.Set("Content-Type", t)
	}
	h.Set("ETag", `"`+a.hashes[name]+`"`)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.hashes[name] {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == h.Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	// A failed write means that the browser left: there is nobody to tell.
	_, _ = w.Write(body)
}
