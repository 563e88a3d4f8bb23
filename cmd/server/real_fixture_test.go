package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// vendorAt starts a vendor on a socket, which the server knows by configuration
// alone, and returns it with its address.
func vendorAt(t testing.TB, w demovendor.Wire, models ...string) (*demovendor.Vendor, string) {
	t.Helper()
	cfg := demovendor.Config{Wire: w}
	for _, m := range models {
		cfg.Models = append(cfg.Models, demovendor.Model{Name: m})
	}
	v := demovendor.New(cfg)
	srv := httptest.NewServer(v)
	t.Cleanup(srv.Close)
	return v, srv.URL
}

// startWith starts a server over a configuration file, whose variable KEY is a
// provider's key.
func startWith(t testing.TB, format string, args ...any) *started {
	t.Helper()
	return start(t, Options{
		Config: write(t, "spillway.yaml", fmt.Sprintf(format, args...)),
		Env:    func(name string) (string, bool) { return "vendor-key", name == "KEY" },
	})
}

// decisions waits for the n-th decision and returns all, oldest first.
func (s *started) decisions(n int) []audit.Decision {
	s.t.Helper()
	var list []audit.Decision
	eventually(s.t, fmt.Sprintf("%d decisions are in the history", n), func() bool {
		var err error
		list, err = s.db.Decisions(s.t.Context(), audit.Filter{Limit: 500})
		return err == nil && len(list) >= n
	})
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// column reads one column of a query on the database file, NULL as "NULL".
func (s *started) column(query string) []string {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(s.cfg.Data, databaseName)+"?mode=ro")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var v sql.NullString
		if err := rows.Scan(&v); err != nil {
			s.t.Fatal(err)
		}
		if !v.Valid {
			v.String = "NULL"
		}
		out = append(out, v.String)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// signIn opens the console as the first operator and returns a reader of its
// pages.
func (s *started) signIn() func(path string) string {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	read := func(res *http.Response, err error) string {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		var b strings.Builder
		if err := res.Write(&b); err != nil || res.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %d, %v", res.Request.URL, res.StatusCode, err)
		}
		return b.String()
	}
	const chosen = "a long enough pass phrase"
	at := s.ready.Console + "/console/"
	read(client.PostForm(at+"sign-in", url.Values{"name": {firstOperator}, "password": {s.ready.Password}}))
	read(client.PostForm(at+"password", url.Values{"password": {chosen}, "again": {chosen}}))
	return func(path string) string {
		s.t.Helper()
		return read(client.Get(at + path))
	}
}
