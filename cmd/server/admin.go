package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// socketName is the running server's admin socket in its data folder. Whoever
// may read the database may use it (docs/adr/0009).
const socketName = "admin.sock"

// listenAdmin opens the admin socket. The caller holds the database's lock, so a
// socket that lies there is a dead server's.
func listenAdmin(data string) (net.Listener, error) {
	path := filepath.Join(data, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open admin socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open admin socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open admin socket: %w", err), l.Close())
	}
	return l, nil
}

// adminHandler serves a keeper, a desk and an engine's tick as JSON.
func adminHandler(k keeper, d providerDesk, e ticker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		list, err := k.list(r.Context())
		adminAnswer(w, list, err)
	})
	mux.HandleFunc("POST /keys", func(w http.ResponseWriter, r *http.Request) {
		var o keyOrder
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&o); err != nil {
			adminAnswer(w, nil, fmt.Errorf("read order: %w", err))
			return
		}
		made, err := k.add(r.Context(), o)
		adminAnswer(w, made, err)
	})
	mux.HandleFunc("DELETE /keys/{id}", func(w http.ResponseWriter, r *http.Request) {
		adminAnswer(w, struct{}{}, k.disable(r.Context(), r.PathValue("id")))
	})
	mux.HandleFunc("GET /providers", func(w http.ResponseWriter, r *http.Request) {
		list, err := d.providers(r.Context())
		adminAnswer(w, list, err)
	})
	mux.HandleFunc("POST /providers/keys", func(w http.ResponseWriter, r *http.Request) {
		var o providerKeyOrder
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&o); err != nil {
			adminAnswer(w, nil, fmt.Errorf("read order: %w", err))
			return
		}
		adminAnswer(w, struct{}{}, d.setKey(r.Context(), o))
	})
	mux.HandleFunc("POST /tick", func(w http.ResponseWriter, _ *http.Request) { adminAnswer(w, tickOnce(e), nil) })
	return mux
}

type adminProblem struct {
	Error string `json:"error"`
}

func adminAnswer(w http.ResponseWriter, body any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		body = adminProblem{err.Error()}
	}
	_ = json.NewEncoder(w).Encode(body) // the command was interrupted
}

// adminClient is the keeper and the desk of a running server.
type adminClient struct{ http *http.Client }

var (
	_ keeper       = adminClient{}
	_ providerDesk = adminClient{}
)

// dialAdmin returns the keeper of the server that runs over a data folder; false
// when none does.
func dialAdmin(ctx context.Context, data string) (adminClient, bool) {
	path := filepath.Join(data, socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	c, err := dial(ctx, "", "")
	if err != nil {
		return adminClient{}, false
	}
	_ = c.Close() // only to see that somebody listens
	return adminClient{&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}, true
}

func (c adminClient) add(ctx context.Context, o keyOrder) (made keyMade, err error) {
	err = c.call(ctx, http.MethodPost, "/keys", o, &made)
	return made, err
}

func (c adminClient) list(ctx context.Context) (list []keyListed, err error) {
	err = c.call(ctx, http.MethodGet, "/keys", nil, &list)
	return list, err
}

func (c adminClient) disable(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/keys/"+url.PathEscape(id), nil, nil)
}

func (c adminClient) providers(ctx context.Context) (list []core.ProviderLive, err error) {
	err = c.call(ctx, http.MethodGet, "/providers", nil, &list)
	return list, err
}

func (c adminClient) setKey(ctx context.Context, o providerKeyOrder) error {
	return c.call(ctx, http.MethodPost, "/providers/keys", o, nil)
}

// call sends one order and reads the answer into out.
func (c adminClient) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		var p adminProblem
		if json.Unmarshal(answer, &p) != nil || p.Error == "" {
			p.Error = res.Status
		}
		return errors.New(p.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
