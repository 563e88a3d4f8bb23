package policy

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// documents is an immutable tree of data, served to OPA as a store whose only
// transaction is itself, and as a cache that walks it. OPA's own store in
// memory was measured to let one slow evaluation beside a write hold up all
// others; here nothing waits for anything. It is safe for concurrent use.
type documents struct {
	storage.TriggersNotSupported
	storage.PolicyNotSupported
	storage.WritesNotSupported
	root ast.Value
}

func newDocuments(pairs ...pair) *documents { return &documents{root: ast.NewObject(pairs...)} }

// ID is the transaction's number: there is one.
func (d *documents) ID() uint64 { return 1 }

// NewTransaction returns the store itself.
func (d *documents) NewTransaction(context.Context, ...storage.TransactionParams) (storage.Transaction, error) {
	return d, nil
}

// Read finds nothing: whatever there is, Get has already found.
func (d *documents) Read(_ context.Context, _ storage.Transaction, path storage.Path) (any, error) {
	v, err := d.root.Find(path.Ref(ast.DefaultRootDocument)[1:])
	if err != nil {
		return nil, &storage.Error{Code: storage.NotFoundErr}
	}
	return v, nil
}

// Commit does nothing: nothing was written.
func (d *documents) Commit(context.Context, storage.Transaction) error { return nil }

// Abort does nothing.
func (d *documents) Abort(context.Context, storage.Transaction) {}

// Truncate is not supported.
func (d *documents) Truncate(context.Context, storage.Transaction, storage.TransactionParams, storage.Iterator) error {
	return &storage.Error{Code: storage.WritesNotSupportedErr}
}

// Get returns the document at a reference below data, nil when there is none.
func (d *documents) Get(ref ast.Ref) ast.Value {
	v, err := d.root.Find(ref[1:])
	if err != nil {
		return nil
	}
	return v
}

// Put is for stores that convert what they read; this one holds what is asked for.
func (d *documents) Put(ast.Ref, ast.Value) {}
